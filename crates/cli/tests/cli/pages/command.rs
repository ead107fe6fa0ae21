//! The commands of an `sh` block, and what they print according to the page.

/// A command as a reader pastes it: one line, or several that a backslash, an open quote or a here-document
/// joins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Command {
    /// How many lines of the block come before it.
    pub(super) offset: usize,
    pub(super) text: String,
    /// The comment behind it: what it prints.
    pub(super) prints: Option<String>,
}

/// Beginnings of a comment that announce an exit code other than 0.
const FAILURES: &[&str] = &["error:", "ERROR:", "Killed"];

impl Command {
    /// Whether the page expects the command to fail.
    pub(super) fn fails(&self) -> bool {
        let prints = self.prints.as_deref().unwrap_or_default();
        FAILURES.iter().any(|word| prints.starts_with(word))
    }
}

/// The commands of a block. A line that is only a comment explains and is not one.
pub(super) fn split(block: &str) -> Vec<Command> {
    let mut commands = Vec::new();
    let mut quote = Quote::None;
    let mut open: Option<Command> = None;
    let mut document: Option<&str> = None;
    for (offset, line) in block.lines().enumerate() {
        if let (Some(end), Some(command)) = (document, open.as_mut()) {
            command.text.push_str(line);
            command.text.push('\n');
            if line == end {
                document = None;
                commands.extend(open.take());
            }
            continue;
        }
        let continued = open.is_some();
        if !continued && (line.trim().is_empty() || line.trim_start().starts_with('#')) {
            continue;
        }
        let mut command =
            open.take().unwrap_or(Command { offset, text: String::new(), prints: None });
        let comment = comment(line, &mut quote);
        let (code, prints) =
            comment.map_or((line, None), |at| (&line[..at], Some(&line[at + 1..])));
        command.text.push_str(code);
        command.text.push('\n');
        command.prints = prints.map(|prints| prints.trim().to_owned());
        document = here_document(code);
        if quote != Quote::None || code.ends_with('\\') || document.is_some() {
            open = Some(command);
        } else {
            commands.push(command);
        }
    }
    commands.extend(open);
    commands
}

/// The line that ends the here-document that a line begins.
fn here_document(code: &str) -> Option<&str> {
    let (_, word) = code.rsplit_once("<<")?;
    let word = word.trim_end();
    let quoted = word.strip_prefix('\'').and_then(|word| word.strip_suffix('\''));
    Some(quoted.unwrap_or(word)).filter(|word| word.bytes().all(|c| c.is_ascii_uppercase()))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quote {
    None,
    Single,
    Double,
}

/// Where the comment of a line begins, if it has one; `quote` is what the line before it left open.
fn comment(line: &str, quote: &mut Quote) -> Option<usize> {
    let (mut escaped, mut starts_word) = (false, true);
    for (at, c) in line.char_indices() {
        let is_first = starts_word;
        starts_word = c.is_whitespace() && *quote == Quote::None;
        if escaped {
            escaped = false;
            continue;
        }
        match (*quote, c) {
            (Quote::None, '#') if is_first => return Some(at),
            (Quote::None | Quote::Double, '\\') => escaped = true,
            (Quote::None, '\'') => *quote = Quote::Single,
            (Quote::None, '"') => *quote = Quote::Double,
            (Quote::Single, '\'') | (Quote::Double, '"') => *quote = Quote::None,
            _ => {}
        }
    }
    None
}

#[test]
fn a_comment_behind_a_command_is_what_it_prints() {
    let block = "# explains\nls   # a b\n\necho '#' \"it's # \" x#y\n";
    let command = |offset, text: &str, prints: Option<&str>| Command {
        offset,
        text: text.to_owned(),
        prints: prints.map(str::to_owned),
    };
    assert_eq!(
        split(block),
        [command(1, "ls   \n", Some("a b")), command(3, "echo '#' \"it's # \" x#y\n", None)]
    );
}

#[test]
fn a_backslash_and_an_open_quote_join_lines() {
    let block = "curl a \\\n  -d 'x\n # y' # z\nls # error: no\n";
    let commands = split(block);
    let texts: Vec<_> = commands.iter().map(|command| command.text.as_str()).collect();
    assert_eq!(texts, ["curl a \\\n  -d 'x\n # y' \n", "ls \n"]);
    assert_eq!(commands[0].prints.as_deref(), Some("z"));
    assert_eq!((commands[0].fails(), commands[1].fails()), (false, true));
}

#[test]
fn a_here_document_is_part_of_its_command() {
    let commands =
        split("cat > a <<'END'\n# it's \\\n\nEND\ncat <<EOF\n$a\nEOF\nls $((1 << 2)) # a\n");
    let texts: Vec<_> = commands.iter().map(|command| command.text.as_str()).collect();
    let expected =
        ["cat > a <<'END'\n# it's \\\n\nEND\n", "cat <<EOF\n$a\nEOF\n", "ls $((1 << 2)) \n"];
    assert_eq!(texts, expected);
    assert_eq!((commands[0].offset, commands[1].offset, commands[2].offset), (0, 4, 7));
}
