//! Which names are accepted.

use super::*;

#[test]
fn names_that_could_break_a_key_or_a_url_are_refused() {
    for bad in ["", " ", "a b", "a:b", "{a}", "a/b", "ä", "-a", ".a", "a\0", "a\n", "a,b", "a%20"]
    {
        assert!(Lane::new(bad).is_err(), "{bad:?} passed");
    }
    for good in ["a", "A-1.b_c", &"x".repeat(64)] {
        assert!(Lane::new(good).is_ok(), "{good:?} refused");
    }
    let long = Lane::new("x".repeat(65)).unwrap_err();
    assert_eq!(long.code(), crate::Code::TooLarge);
    assert_eq!(long.field(), Some("lane"));
}

#[test]
fn the_quota_of_a_lane_has_a_name_of_its_own() {
    let lane = Lane::new("mine").unwrap();
    let name = ResourceName::of_lane(&lane);
    assert_eq!(ResourceName::new(name.as_str()).unwrap(), name);
    assert_eq!(name.lane(), Some(lane));
    assert_eq!(name.check_free("name").unwrap_err().code(), crate::Code::InvalidArgument);
    assert!(ResourceName::new("mine").unwrap().check_free("name").is_ok());
    for bad in ["@", "@@a", "a@", "@ a"] {
        assert!(ResourceName::new(bad).is_err(), "{bad:?} passed");
    }
    assert!(ResourceName::of_lane(&Lane::new("x".repeat(64)).unwrap()).lane().is_some());
}

#[test]
fn no_input_names_the_namespace_of_the_store() {
    let system = Namespace::system();
    assert!(system.is_system() && !Namespace::default().is_system());
    assert_eq!(Namespace::stored(system.as_str()).unwrap(), system);
    assert_eq!(Namespace::stored("acme").unwrap(), Namespace::new("acme").unwrap());
    for bad in ["@system", "@SYSTEM", "@acme", "@", "%40system", " @system"] {
        assert!(Namespace::new(bad).is_err(), "{bad:?} passed");
        assert!(bad.parse::<Namespace>().is_err(), "{bad:?} passed as text");
        assert!(Namespace::try_from(Arc::<str>::from(bad)).is_err(), "{bad:?} was decoded");
    }
    for bad in ["@acme", "@@system", "", "@system "] {
        assert!(Namespace::stored(bad).is_err(), "{bad:?} was read back");
    }
}

#[test]
fn no_token_is_called_what_is_no_token() {
    for actor in [Actor::root(), Actor::local(), Actor::engine()] {
        assert!(TokenName::new(actor.as_str()).is_err(), "{actor}");
        assert!(TokenName::new(actor.as_str().to_uppercase()).is_err(), "{actor}");
    }
    let ci = TokenName::new("ci").unwrap();
    assert_eq!(Actor::from(&ci).as_str(), "ci");
}

#[test]
fn a_refused_name_is_refused_when_decoded_too() {
    assert!(Lane::try_from(Arc::<str>::from("a b")).is_err());
}

#[test]
fn a_kid_has_no_dot_and_a_subject_no_control_character() {
    for bad in ["", "a.b", "a b", "ä", &"x".repeat(17)] {
        assert!(Kid::new(bad).is_err(), "{bad:?} passed");
    }
    assert!(Kid::new("2026-11_B").is_ok());
    for bad in ["", "  ", "a\n", &"x".repeat(129)] {
        assert!(Subject::new(bad).is_err(), "{bad:?} passed");
    }
    assert!(Subject::new("Jörg <joerg@example.com>").is_ok());
}

#[test]
fn tag_values_take_any_text_without_control_characters() {
    assert!(TagValue::new("").is_ok());
    assert!(TagValue::new("größe: 3 {x}").is_ok());
    assert!(TagValue::new("a\tb").is_err());
}

#[test]
fn a_step_has_any_text_for_a_name_but_none() {
    assert!(StepName::new("charge card #3, größe {x}").is_ok());
    assert!(StepName::new("x".repeat(256)).is_ok());
    for bad in ["", "a\nb", "\u{7f}"] {
        assert_eq!(StepName::new(bad).unwrap_err().code(), crate::Code::InvalidArgument);
    }
    assert_eq!(StepName::new("x".repeat(257)).unwrap_err().code(), crate::Code::TooLarge);
}
