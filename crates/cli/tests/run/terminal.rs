//! Keys on a terminal: Ctrl-C, and Ctrl-Z with what a shell makes of it. `script` gives the terminal.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use libtest_mimic::{Completion, Failed, Trial};

use crate::stage::*;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("ctrl_c_comes_once_and_ends_both", interrupted),
        trial("ctrl_z_stops_both_and_fg_continues_them", stopped_and_continued),
        trial("keys_reach_an_article_and_its_step", article),
    ]
}

/// A shell script on a terminal of its own.
struct ScriptTerminal {
    child: Child,
    keys: ChildStdin,
    screen: ChildStdout,
    seen: String,
}

impl ScriptTerminal {
    fn start(script: &str) -> std::result::Result<Self, Failed> {
        let mut command = Command::new("script");
        // Job control, without which a shell does not stop its commands.
        command.args(["-q", "-e", "-c", &format!("sh -m -c '{script}'"), "/dev/null"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let keys = child.stdin.take().ok_or("standard input is a pipe")?;
        let screen = child.stdout.take().ok_or("standard output is a pipe")?;
        Ok(Self { child, keys, screen, seen: String::new() })
    }

    fn press(&mut self, key: u8) -> std::result::Result<(), Failed> {
        self.keys.write_all(&[key])?;
        Ok(self.keys.flush()?)
    }

    /// Reads until a text comes, and takes everything up to it away.
    fn until(&mut self, text: &str) -> std::result::Result<String, Failed> {
        loop {
            if let Some(place) = self.seen.find(text) {
                let rest = self.seen.split_off(place + text.len());
                return Ok(std::mem::replace(&mut self.seen, rest));
            }
            let mut bytes = [0; 1024];
            match self.screen.read(&mut bytes)? {
                0 => return Err(format!("\"{text}\" did not come; seen: {}", self.seen).into()),
                count => self.seen.push_str(&String::from_utf8_lossy(&bytes[..count])),
            }
        }
    }
}

impl Drop for ScriptTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const CTRL_C: u8 = 3;
const CTRL_Z: u8 = 26;

fn has_no_script() -> Option<Completion> {
    (!is_installed("script")).then(|| Completion::ignored_with("script is not installed, which gives a terminal"))
}

fn interrupted() -> RunTestResult {
    if let Some(skipped) = has_no_script() {
        return Ok(skipped);
    }
    let (corewise, cpu) = (env!("CARGO_BIN_EXE_corewise"), one_cpu());
    for way in ["", "-v"] {
        // It goes on for a while after the key, in which a second one would come.
        let command = "c=0; n=0; all=0; trap \"echo caught; c=1\" INT; echo ready; \
                       while [ $n -lt 20 ] && [ $all -lt 6000 ]; do sleep 0.01; n=$((n+c)); all=$((all+1)); done; exit 5";
        let script = format!("{corewise} run {way} --on {cpu} sh -c '\\''{command}'\\''; echo status $?.");
        let mut terminal = ScriptTerminal::start(&script)?;
        terminal.until("ready")?;
        terminal.press(CTRL_C)?;
        let screen = terminal.until("status 5.")?;
        same(screen.matches("caught").count(), 1, &screen)?;
    }
    Ok(Completion::Completed)
}

fn stopped_and_continued() -> RunTestResult {
    if let Some(skipped) = has_no_script() {
        return Ok(skipped);
    }
    let (corewise, cpu) = (env!("CARGO_BIN_EXE_corewise"), one_cpu());
    for way in ["", "-v"] {
        let command = "echo ready; read line; echo read $line; exit 6";
        let script = format!(
            "{corewise} run {way} --on {cpu} sh -c '\\''{command}'\\''; echo status $?.; echo back; fg; echo status $?."
        );
        let mut terminal = ScriptTerminal::start(&script)?;
        terminal.until("ready")?;
        terminal.press(CTRL_Z)?;
        // 128 and SIGTSTP.
        terminal.until("status 148.")?;
        terminal.until("back")?;
        terminal.keys.write_all(b"hello\n")?;
        terminal.until("read hello")?;
        terminal.until("status 6.")?;
    }
    Ok(Completion::Completed)
}

/// A step stops with its article and goes on with it, and writes where a terminal takes output of its foreground group alone.
fn article() -> RunTestResult {
    if let Some(skipped) = has_no_script() {
        return Ok(skipped);
    }
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("own.toml");
    let step = "[[step]]\ntitle = \"one\"\ncommand = [\"try\", \"--on\", \"0\", \"--\", \"sleep\", \"0.2\"]\n";
    let head = "name = \"own\"\nquestion = \"?\"\nsource = \"nobody\"\npublished = \"nothing\"\nlook = \"there\"\n";
    std::fs::write(&file, format!("{head}{step}"))?;
    let (corewise, file) = (env!("CARGO_BIN_EXE_corewise"), file.display());
    let settings = format!("COREWISE_LOCK={} COREWISE_REST=0s", folder.path().display());
    let script = format!(
        "stty tostop; {settings} {corewise} article {file} --no-store; echo status $?.; echo back; fg; echo status $?."
    );
    let mut terminal = ScriptTerminal::start(&script)?;
    terminal.until("block 1")?;
    terminal.press(CTRL_Z)?;
    terminal.until("status 148.")?;
    terminal.until("back")?;
    terminal.until("block")?;
    terminal.press(CTRL_C)?;
    terminal.until("status 130.")?;
    Ok(Completion::Completed)
}
