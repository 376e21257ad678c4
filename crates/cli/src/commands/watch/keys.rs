//! The keys, as users of htop and less expect them.

/// A key that was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PressedKey {
    /// A character.
    Character(char),
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Backspace.
    Backspace,
    /// The up arrow.
    Up,
    /// The down arrow.
    Down,
    /// The left arrow.
    Left,
    /// The right arrow.
    Right,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Home.
    Home,
    /// End.
    End,
    /// Tab.
    Tab,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-Z.
    Stop,
}

/// The effect of a key on the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyEffect {
    /// Draw it again.
    Draw,
    /// End.
    Quit,
    /// End, and end the started command too.
    EndProgram,
    /// Stop the process, as Ctrl-Z does.
    Stop,
    /// Move by a number of moments in a recording.
    Step(isize),
    /// List the processes to choose from.
    ListProcesses,
    /// Follow the process of this number.
    Follow(u32),
}

/// The keys and their effects, for the help screen.
pub const HELP: [(&str, &str); 15] = [
    ("up, down, k, j", "select a row; PgUp, PgDn a page; Home, End, g, G the first, the last"),
    ("Tab", "to the next part: cpus, threads, interrupts"),
    ("right, +", "unfold the selected row"),
    ("left, -", "fold it, or the row that holds it"),
    ("Enter", "fold or unfold it"),
    ("*", "fold the machine so that it fits the screen again"),
    ("/, n", "find a name or number; the next"),
    ("s", "sort threads: by start, running, waiting, moves, name"),
    ("p", "list the processes, most cpu time first; Enter follows the selected one"),
    ("space", "freeze, and go on"),
    (", .", "one moment back or on in a recording"),
    ("e", "the command that examines the selected row; it is shown, not executed"),
    ("?, h", "this help"),
    ("Ctrl-Z", "back to the shell; fg returns"),
    ("q, Ctrl-C", "end"),
];
