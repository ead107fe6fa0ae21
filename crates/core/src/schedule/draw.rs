//! Random cron expressions, and zones with odd rules, for tests.

use fastrand::Rng;

/// Zones whose clocks change by half hours, by hours of which some are skipped at midnight, several times a
/// year, or long ago; and some that are plain.
pub(crate) const ZONES: &[&str] = &[
    "UTC",
    "Europe/Berlin",
    "Europe/Dublin",
    "Europe/London",
    "Europe/Lisbon",
    "Europe/Chisinau",
    "America/New_York",
    "America/Sao_Paulo",
    "America/Santiago",
    "America/Havana",
    "America/Asuncion",
    "America/St_Johns",
    "America/Caracas",
    "America/Nuuk",
    "America/Scoresbysund",
    "America/Miquelon",
    "Africa/Casablanca",
    "Africa/El_Aaiun",
    "Africa/Cairo",
    "Africa/Juba",
    "Asia/Tehran",
    "Asia/Gaza",
    "Asia/Beirut",
    "Asia/Kathmandu",
    "Asia/Pyongyang",
    "Asia/Amman",
    "Asia/Hovd",
    "Asia/Jerusalem",
    "Australia/Lord_Howe",
    "Australia/Adelaide",
    "Australia/Sydney",
    "Antarctica/Casey",
    "Antarctica/Troll",
    "Antarctica/Macquarie",
    "Pacific/Apia",
    "Pacific/Chatham",
    "Pacific/Easter",
    "Pacific/Norfolk",
    "Pacific/Fiji",
    "Pacific/Bougainville",
    "Pacific/Marquesas",
    "Atlantic/Azores",
];

/// An expression that is mostly about a few moments of a day.
pub(crate) fn cron(rng: &mut Rng) -> String {
    let few = |rng: &mut Rng, least: u8, most: u8| match rng.u8(..5) {
        0 | 1 => "*".to_owned(),
        2 => format!("{}", rng.u8(least..=most)),
        3 => format!("*/{}", rng.u8(1..=most.min(30))),
        _ => {
            let from = rng.u8(least..=most);
            format!("{from}-{},{}", rng.u8(from..=most), rng.u8(least..=most))
        }
    };
    let seconds = match rng.u8(..6) {
        0 => few(rng, 0, 59) + " ",
        1 => "0 ".to_owned(),
        _ => String::new(),
    };
    let days = |rng: &mut Rng, least: u8, most: u8| match rng.u8(..4) {
        0 => few(rng, least, most),
        _ => "*".to_owned(),
    };
    let day = if rng.u8(..12) == 0 { "L".to_owned() } else { days(rng, 1, 28) };
    let (minute, hour) = (few(rng, 0, 59), few(rng, 0, 5));
    format!("{seconds}{minute} {hour} {day} {} {}", days(rng, 1, 12), days(rng, 0, 6))
}
