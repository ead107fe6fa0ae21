//! A page: its fenced blocks, in order.

use std::path::Path;

/// What a block's fence begins with when the block is not to be run; the reason follows.
const NOT_RUN: &str = "not-run:";

/// A page of the documentation.
pub(super) struct Page {
    /// Its path from the root of the repository.
    pub(super) name: String,
    pub(super) blocks: Vec<Block>,
}

/// A fenced block.
pub(super) struct Block {
    /// The line of the page on which its fence opens.
    pub(super) line: usize,
    /// Whether nothing but empty lines is between the block before and this one.
    pub(super) follows: bool,
    /// The first word of its fence: the language.
    pub(super) kind: String,
    /// The other words of its fence.
    words: Vec<String>,
    pub(super) text: String,
}

impl Page {
    pub(super) fn read(root: &Path, name: &str) -> Page {
        let text = std::fs::read_to_string(root.join(name));
        Page::parse(name, &text.unwrap_or_else(|error| panic!("{name} cannot be read: {error}")))
    }

    pub(super) fn parse(name: &str, text: &str) -> Page {
        let mut blocks = Vec::new();
        let mut open: Option<Block> = None;
        let mut follows = false;
        for (index, line) in text.lines().enumerate() {
            open = match (open, line.trim_start().strip_prefix("```")) {
                (None, None) => {
                    follows &= line.trim().is_empty();
                    None
                }
                (None, Some(info)) => Some(Block::open(index + 1, follows, info)),
                (Some(block), Some("")) => {
                    blocks.push(block);
                    follows = true;
                    None
                }
                (Some(mut block), _) => {
                    block.text.push_str(line);
                    block.text.push('\n');
                    Some(block)
                }
            };
        }
        assert!(open.is_none(), "{name} ends within a block");
        Page { name: name.to_owned(), blocks }
    }

    /// The text of the blocks that a shell runs.
    pub(super) fn commands(&self) -> String {
        let run = self.blocks.iter().filter(|block| block.kind == "sh" && !block.is_left_out());
        run.map(|block| block.text.as_str()).collect()
    }
}

impl Block {
    fn open(line: usize, follows: bool, info: &str) -> Block {
        let mut words = info.split([',', ' ']).map(str::to_owned).filter(|word| !word.is_empty());
        let kind = words.next().unwrap_or_default();
        Block { line, follows, kind, words: words.collect(), text: String::new() }
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.words.iter().any(|has| has == word)
    }

    /// Why it is not run, if its fence says so: `not-run:it-builds-ff`.
    pub(super) fn reason(&self) -> Option<String> {
        let reason = self.words.iter().find_map(|word| word.strip_prefix(NOT_RUN))?;
        Some(reason.replace('-', " "))
    }

    /// The name under which it is saved, if its fence has one: `file:greet.py`.
    pub(super) fn file(&self) -> Option<&str> {
        self.words.iter().find_map(|word| word.strip_prefix("file:"))
    }

    fn is_left_out(&self) -> bool {
        self.reason().is_some()
    }
}
