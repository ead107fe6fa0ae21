//! What random histories are about: a theme makes commands of its own, and has moves of its own in the
//! transition table, which its histories must take.
//!
//! Every history also has commands of the lifecycle, without which nothing happens, and now and then one
//! of any theme. How often those come is fixed, so a new theme takes nothing from the others: it is a
//! file here, with its [`Theme`], and a line in [`THEMES`].

mod admission;
mod continuations;
mod elements;
mod flow;
mod interrupt;
mod lifecycle;
mod resources;
mod schedules;
mod streams;
mod suspend;
mod webhooks;

use ff_core::Code;
use ff_core::machine::Action;
use ff_core::table::{ARROWS, Arrow, FLOW_ARROWS};

use super::generate::Generator;
use super::pair::View;

/// All themes. The lifecycle comes last: its moves are those that no other theme has.
pub(crate) static THEMES: &[&Theme] = &[
    &flow::THEME,
    &streams::THEME,
    &suspend::THEME,
    &interrupt::THEME,
    &elements::THEME,
    &continuations::THEME,
    &admission::THEME,
    &resources::THEME,
    &LIFECYCLE,
];

static LIFECYCLE: Theme = lifecycle::THEME;

/// Of 100 commands of a history, how many are of any theme.
const OF_ANY: u8 = 10;
/// Of 100 commands, how many are of the history's own theme; the others are of the lifecycle.
const OF_ITS_OWN: u8 = 35;

/// How far apart two histories in a row are dealt. It divides no number of histories, so that a full
/// run has as many of each theme as that says, and a part of it about its share.
const STRIDE: u64 = 1_009;

/// Makes a command of one kind, if it applies to the model's state.
type Make = fn(&mut Generator, View<'_>) -> Option<Action>;

/// What a history is about.
pub(crate) struct Theme {
    /// Its name in reports.
    pub(crate) name: &'static str,
    /// How many histories of a full run are about it.
    pub(crate) histories: u64,
    /// How often each of its moves must be made in these.
    pub(crate) least: u64,
    /// Whether a move is its own, if no theme before it has it.
    owns: fn(&Arrow) -> bool,
    /// What its histories must be refused with, besides what others are.
    pub(crate) refusals: &'static [Code],
    /// Its commands, and how often each is made.
    kinds: &'static [(u32, Make)],
}

impl Theme {
    /// How many histories a full run has.
    pub(crate) fn full_run() -> u64 {
        THEMES.iter().map(|theme| theme.histories).sum()
    }

    /// The theme of the history that `seed` makes.
    pub(crate) fn of_seed(seed: u64) -> &'static Theme {
        let mut place = seed % Theme::full_run() * STRIDE % Theme::full_run();
        for theme in THEMES {
            if place < theme.histories {
                return theme;
            }
            place -= theme.histories;
        }
        &LIFECYCLE
    }

    /// Whether every history has commands of it.
    pub(crate) fn is_everywhere(&self) -> bool {
        self.name == LIFECYCLE.name
    }

    /// Its moves.
    pub(crate) fn moves(&self) -> impl Iterator<Item = &'static Arrow> {
        let owner = |arrow: &Arrow| THEMES.iter().find(|theme| (theme.owns)(arrow));
        every_move().filter(move |arrow| owner(arrow).is_some_and(|owner| owner.name == self.name))
    }

    /// One of its commands, unless the one that is drawn does not apply now.
    fn action(&self, generator: &mut Generator, view: View<'_>) -> Option<Action> {
        let total: u32 = self.kinds.iter().map(|(weight, _)| weight).sum();
        let mut drawn = generator.rng.u32(..total);
        for (weight, make) in self.kinds {
            if drawn < *weight {
                return make(generator, view);
            }
            drawn -= weight;
        }
        None
    }
}

/// Every move that an execution can make.
pub(crate) fn every_move() -> impl Iterator<Item = &'static Arrow> {
    ARROWS.iter().chain(FLOW_ARROWS)
}

impl Generator {
    /// A command, unless the one that is drawn does not apply now.
    pub(super) fn action(&mut self, view: View<'_>) -> Option<Action> {
        let theme = match self.rng.u8(..100) {
            0..OF_ANY => THEMES[self.rng.usize(..THEMES.len())],
            drawn if drawn < OF_ANY + OF_ITS_OWN => self.theme,
            _ => &LIFECYCLE,
        };
        theme.action(self, view)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_move_is_of_one_theme() {
        let moves: Vec<_> = THEMES.iter().flat_map(|theme| theme.moves()).collect();
        assert_eq!(moves.len(), ARROWS.len() + FLOW_ARROWS.len());
        assert!(every_move().all(|arrow| moves.contains(&arrow)));
    }

    #[test]
    fn a_full_run_has_as_many_histories_of_each_theme_as_that_says() {
        let mut dealt = BTreeMap::<_, u64>::new();
        for seed in 0..Theme::full_run() {
            *dealt.entry(Theme::of_seed(seed).name).or_default() += 1;
        }
        let said = THEMES.iter().map(|theme| (theme.name, theme.histories)).collect();
        assert_eq!(dealt, said);
    }

    #[test]
    fn a_part_of_a_run_has_histories_of_every_theme() {
        for theme in THEMES {
            let part = (0..200).filter(|seed| Theme::of_seed(*seed).name == theme.name).count();
            assert!(part as u64 >= 200 * theme.histories / Theme::full_run() / 2, "{}", theme.name);
        }
    }
}
