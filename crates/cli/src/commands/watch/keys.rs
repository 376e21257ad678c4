//! The keys, as users of htop and less expect them.

/// A key that was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Character(char),
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Backspace.
    Backspace,
    /// The arrow.
    Up,
    /// The arrow.
    Down,
    /// The arrow.
    Left,
    /// The arrow.
    Right,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the beginning.
    Home,
    /// To the end.
    End,
    /// Tab.
    Tab,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-Z.
    Stop,
}

/// What a key asks of whoever shows the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Draw it again.
    Draw,
    /// End.
    Quit,
    /// End, and let the command end that was started.
    EndProgram,
    /// Stop as Ctrl-Z stops a program.
    Stop,
    /// Show another moment of a recording: so many on.
    Step(isize),
}

/// What the keys do, for the screen of help.
pub const HELP: [(&str, &str); 14] = [
    ("up, down, k, j", "select a row; PgUp, PgDn a page; Home, End, g, G the first, the last"),
    ("Tab", "to the next part: cpus, threads, interrupts"),
    ("right, +", "unfold what is selected"),
    ("left, -", "fold it, or what holds it"),
    ("Enter", "fold or unfold it"),
    ("*", "fold the machine so that it fits the screen again"),
    ("/, n", "find a name or number; the next"),
    ("s", "sort threads: by start, running, waiting, moves, name"),
    ("space", "freeze, and go on"),
    (", .", "one moment back or on in a recording"),
    ("e", "the command that examines what is selected; it is shown, not executed"),
    ("?, h", "this help"),
    ("Ctrl-Z", "back to the shell; fg returns"),
    ("q, Ctrl-C", "end"),
];
