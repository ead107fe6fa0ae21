//! What the OpenAPI document says of text: types that are described and never made. The bounds are
//! those of `ff_core::bounds`.
#![allow(dead_code, reason = "descriptions")]

use utoipa::ToSchema;

/// A name: a letter or digit, then letters, digits, `_`, `-` and `.`, at most 64 in all.
#[derive(ToSchema)]
#[schema(value_type = String, min_length = 1, max_length = 64, pattern = r"^[A-Za-z0-9][A-Za-z0-9_.\-]*$")]
pub struct Name(String);

/// The id of an execution: a UUIDv7.
#[derive(ToSchema)]
#[schema(
    value_type = String,
    format = "uuid",
    pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"
)]
pub struct Id(String);

/// The name of one call: a random UUID.
#[derive(ToSchema)]
#[schema(
    value_type = String,
    format = "uuid",
    pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
)]
pub struct Call(String);

/// The name of a lease, as the claim gave it.
#[derive(ToSchema)]
#[schema(
    value_type = String,
    pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}[.][0-9]{1,4}$"
)]
pub struct LeaseName(String);

/// An amount in whole units.
#[derive(ToSchema)]
#[schema(value_type = u64, maximum = 9007199254740992u64)]
pub struct Amount(u64);

/// An idempotency key: visible ASCII characters.
#[derive(ToSchema)]
#[schema(value_type = String, min_length = 1, max_length = 256, pattern = "^[!-~]+$")]
pub struct Key(String);

/// The value of a tag: text of at most 256 bytes without control characters.
#[derive(ToSchema)]
#[schema(value_type = String, max_length = 256, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
pub struct TagText(String);

/// A capability: a word without commas, spaces or control characters.
#[derive(ToSchema)]
#[schema(value_type = String, min_length = 1, max_length = 4096, pattern = "^[!-+\\--~]+$")]
pub struct Capability(String);

/// A media type: visible ASCII characters.
#[derive(ToSchema)]
#[schema(value_type = String, min_length = 1, max_length = 128, pattern = "^[!-~]([ -~]*[!-~])?$")]
pub struct MediaType(String);

/// Any bytes, in base64 with padding.
#[derive(ToSchema)]
#[schema(
    value_type = String,
    max_length = 1398104,
    pattern = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
)]
pub struct Base64(String);

/// Text for people, at most 4096 bytes.
#[derive(ToSchema)]
#[schema(value_type = String, max_length = 4096)]
pub struct Message(String);
