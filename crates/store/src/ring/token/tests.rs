//! Tokens are what they were signed as, or nothing.

use proptest::prelude::*;

use super::*;

const SECRET: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// Made by another implementation of HMAC-SHA-256: the format is what others rely on.
const VECTORS: [(Purpose, bool, &str); 3] = [
    (
        Purpose::Signal,
        true,
        "ff1.k1.AYkKXayWd0u8zrMCCZqAVwARIjNEVWZ3iJmqu8zd7v8AAAGjGFxQA\
         ARhY21lD2FubkBleGFtcGxlLmNvbQ.Ya7gOFydGvZ_VS9HwPSi7xvUvCWGV6LtJcbpFbsibfQ\
         ",
    ),
    (
        Purpose::Signal,
        false,
        "ff1.k1.AYkKXayWd0u8zrMCCZqAVwARIjNEVWZ3iJmqu8zd7v8AAAAAAAAAA\
         ARhY21lAA.5OZv3dEM8sEYNfc_G7KkP1YRP3hdkjLsTqwdDRjS4Ns\
         ",
    ),
    (
        Purpose::ApprovalLink,
        true,
        "ffa1.k1.AYkKXayWd0u8zrMCCZqAVwARIjNEVWZ3iJmqu8zd7v8AAAGjGFxQ\
         AARhY21lD2FubkBleGFtcGxlLmNvbQ.7RBruvEF1lFOHqNlbwt1vtRH2jIBeCVk-x9G3NtozBU\
         ",
    ),
];

fn keys() -> Keys {
    let mut keys = Keys::default();
    keys.add(Key::parse("k1", SECRET).unwrap()).unwrap();
    keys.add(Key::parse("k2", &SECRET.replace("00", "ff")).unwrap()).unwrap();
    keys
}

fn key(kid: &str) -> Key {
    keys().get(&Kid::new(kid).unwrap()).unwrap().clone()
}

fn claims(full: bool) -> Claims {
    Claims {
        namespace: Namespace::new("acme").unwrap(),
        execution: "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap(),
        waitpoint: WaitpointId::new(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff),
        subject: full.then(|| Subject::new("ann@example.com").unwrap()),
        expires: full.then(|| Time::from_ms(1_800_000_000_000)),
    }
}

fn any_claims() -> impl Strategy<Value = Claims> {
    let subject = proptest::option::of("[^\\p{C} ][^\\p{C}]{0,30}");
    ("[a-zA-Z0-9][a-zA-Z0-9_.-]{0,63}", any::<u64>(), any::<u128>(), subject, 0..3_u64).prop_map(
        |(namespace, random, waitpoint, subject, expires)| Claims {
            namespace: Namespace::new(namespace).unwrap(),
            execution: ExecutionId::mint(
                Time::from_ms(random),
                ff_core::Partition::ONLY,
                random as u32,
                random,
            ),
            waitpoint: WaitpointId::new(waitpoint),
            subject: subject.map(|text| Subject::new(text).unwrap()),
            expires: (expires > 0).then(|| Time::from_ms(expires * (random >> 8) + 1)),
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_token_says_what_was_signed(claims in any_claims()) {
        for purpose in Purpose::ALL {
            let token = SignedToken::sign(&key("k2"), purpose, &claims);
            prop_assert!(token.reveal().len() <= TOKEN_BYTES);
            prop_assert_eq!(&token, &SignedToken::sign(&key("k2"), purpose, &claims));
            let (said, kid) = token.verify(&keys(), purpose).unwrap();
            prop_assert_eq!((&said, kid.as_str()), (&claims, "k2"));
            for other in Purpose::ALL.into_iter().filter(|other| *other != purpose) {
                prop_assert_eq!(token.verify(&keys(), other), Err(Refusal::InvalidToken));
            }
        }
    }

    #[test]
    fn any_text_is_refused_without_a_panic(text in ".{0,500}") {
        for prefix in ["", "ff1.", "ffa1.k1."] {
            let token = SignedToken::received(format!("{prefix}{text}"));
            for purpose in Purpose::ALL {
                prop_assert_eq!(token.verify(&keys(), purpose), Err(Refusal::InvalidToken));
            }
        }
    }
}

#[test]
fn the_format_is_pinned() {
    for (purpose, full, pinned) in VECTORS {
        let token = SignedToken::sign(&key("k1"), purpose, &claims(full));
        assert_eq!(token.reveal(), pinned);
        assert_eq!(SignedToken::received(pinned).verify(&keys(), purpose).unwrap().0, claims(full));
    }
}

/// One change of a token; `None` if it changed nothing.
fn changed(token: &str, random: &mut fastrand::Rng) -> Option<String> {
    let mut bytes = token.as_bytes().to_vec();
    let at = random.usize(..bytes.len());
    match random.u8(..6) {
        0 => bytes[at] ^= 1 << random.u8(..8),
        1 => bytes.truncate(at),
        2 => bytes.extend((0..random.usize(1..9)).map(|_| random.alphanumeric() as u8)),
        3 => bytes.insert(at, random.alphanumeric() as u8),
        4 => drop(bytes.remove(at)),
        _ => bytes[at] = random.alphanumeric() as u8,
    }
    String::from_utf8(bytes).ok().filter(|changed| changed != token)
}

#[test]
fn every_one_of_100_000_changed_tokens_is_refused_alike() {
    let seed = fastrand::u64(..);
    let mut random = fastrand::Rng::with_seed(seed);
    let (keys, mut refused) = (keys(), 0);
    let tokens: Vec<_> = [true, false]
        .iter()
        .map(|full| SignedToken::sign(&key("k1"), Purpose::Signal, &claims(*full)))
        .collect();
    while refused < 100_000 {
        let token = random.choice(&tokens).unwrap();
        let Some(text) = changed(token.reveal(), &mut random) else { continue };
        let answer = SignedToken::received(&*text).verify(&keys, Purpose::Signal);
        assert_eq!(answer, Err(Refusal::InvalidToken), "seed {seed}: {text}");
        refused += 1;
    }
}

#[test]
fn other_spellings_of_a_token_are_refused() {
    let token = SignedToken::sign(&key("k1"), Purpose::Signal, &claims(false));
    let text = token.reveal();
    let (rest, mac) = text.rsplit_once('.').unwrap();
    // 32 bytes leave two unused bits in the last digit: only zeros are written there.
    let last = BASE64.decode(mac).unwrap()[31];
    let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let unused = usize::from(last & 0b1111) << 2 | 0b01;
    let other_bits = format!("{}{}", &text[..text.len() - 1], &digits[unused..=unused]);
    for other in [
        format!("{text}="),
        format!("{text}."),
        format!("{text}\n"),
        format!(" {text}"),
        format!("{rest}..{mac}"),
        text.replacen("ff1", "FF1", 1),
        text.replacen("k1", "k2", 1),
        text.replacen("k1", "K1", 1),
        text.replacen(".k1", ".k9", 1),
        other_bits,
    ] {
        let answer = SignedToken::received(&*other).verify(&keys(), Purpose::Signal);
        assert_eq!(answer, Err(Refusal::InvalidToken), "{other}");
    }
    assert!(token.verify(&Keys::default(), Purpose::Signal).is_err());
}

#[test]
fn a_token_is_not_printed() {
    let token = SignedToken::sign(&key("k1"), Purpose::Signal, &claims(true));
    assert_eq!(format!("{token} {token:?} {:?}", Some(&token)), "redacted redacted Some(redacted)");
}
