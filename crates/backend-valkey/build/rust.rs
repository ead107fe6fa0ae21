//! Writes the stored format as Rust: a structure for each layout, the numbers of `CODES`, and the
//! constants for Lua.

use std::fmt::Write;

use crate::format::{CODES, Field, HEAD, LAYOUTS, OFFSETS, SPANS, STRETCHES, TAIL, layout};
use crate::widths::{self, Kind};

/// The source of `codec::format`.
pub(crate) fn source() -> String {
    let record = [HEAD.fields, TAIL.fields].concat();
    let mut source = structure("record", "A record, but for the MessagePack at its end.", &record);
    for layout in LAYOUTS {
        source += &structure(layout.name, layout.is, layout.fields);
    }
    for (name, of, first, last) in STRETCHES {
        let is = format!("The fields from `{first}` to `{last}` of `{of}`.");
        source += &structure(name, &is, &widths::stretch(layout(of).fields, first, last));
    }
    for (of, codes) in CODES {
        source += &format!("/// The numbers of: {of}.\npub(crate) mod {of} {{\n");
        for (name, number) in *codes {
            let _ = writeln!(source, "pub(crate) const {name}: u64 = {number};");
        }
        source += "}\n";
    }
    for (name, length) in widths::lengths() {
        source += &format!("/// How many bytes it has: {name}.\n");
        let _ = writeln!(source, "pub(crate) const {}: usize = {length};", name.to_uppercase());
    }
    source += "/// The constants of Lua: numbers by name. It counts bytes from 1.\n";
    let _ = writeln!(source, "pub(crate) const LUA: &[(&str, i64)] = &{:?};", constants());
    source
}

/// Names and numbers for Lua.
fn constants() -> Vec<(String, usize)> {
    let offset = |(of, field): &(&str, &str)| {
        let name = if *of == HEAD.name { (*field).to_owned() } else { format!("{of}_{field}") };
        (format!("{}_AT", name.to_uppercase()), widths::offset(layout(of).fields, field) + 1)
    };
    let mut constants: Vec<_> = OFFSETS.iter().map(offset).collect();
    for (name, of, first, last) in SPANS {
        let (from, to) = widths::span(layout(of).fields, first, last);
        let name = name.to_uppercase();
        constants.extend([(format!("{name}_FROM"), from + 1), (format!("{name}_TO"), to)]);
    }
    for (of, codes) in CODES {
        let of = of.to_uppercase();
        constants
            .extend(codes.iter().map(|(name, number)| (format!("{of}_{name}"), *number as usize)));
    }
    constants
}

fn structure(name: &str, is: &str, fields: &[Field]) -> String {
    let borrows = fields.iter().any(|(_, width)| matches!(Kind::of(width), Kind::Counted(_)));
    let (name, life) = (capital(name), if borrows { "<'a>" } else { "" });
    let (mut types, mut pack, mut unpack) = (String::new(), String::new(), String::new());
    for (field, width) in fields {
        let (kind, put, take) = match Kind::of(width) {
            Kind::Number(n) => ("u64".into(), format!("number::<{n}>"), format!("number::<{n}>")),
            Kind::Signed(n) => ("i64".into(), format!("signed::<{n}>"), format!("signed::<{n}>")),
            Kind::Bytes(n) => (format!("[u8; {n}]"), "raw".into(), format!("array::<{n}>")),
            Kind::Counted(n) => {
                ("&'a [u8]".to_owned(), format!("bytes::<{n}>"), format!("bytes::<{n}>"))
            }
        };
        let by = if kind.starts_with('[') { "&" } else { "" };
        let _ = writeln!(types, "pub(crate) {field}: {kind},");
        let _ = writeln!(pack, "into.{put}({by}self.{field});");
        let _ = writeln!(unpack, "{field}: from.{take}()?,");
    }
    let from = if borrows { "Unpacker<'a>" } else { "Unpacker<'_>" };
    format!(
        "/// {is}
pub(crate) struct {name}{life} {{
{types}}}
impl{life} {name}{life} {{
pub(crate) fn pack(&self, into: &mut Packer) {{
{pack}}}
pub(crate) fn unpack(from: &mut {from}) -> Result<{name}{life}, Short> {{
Ok({name} {{
{unpack}}})
}}
}}
"
    )
}

fn capital(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    first.to_uppercase() + rest
}
