//! sshd on this machine's loopback; any number of host names lead to it. It ends with this value.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::wait_for;

pub struct SshDaemon {
    daemon: Child,
    pub port: u16,
    folder: PathBuf,
}

impl SshDaemon {
    /// Starts sshd with keys of its own in a folder. What it runs finds programs in `path`, and has the folder as its home.
    pub fn start(folder: &Path, path: &str) -> Self {
        fs::create_dir(folder).unwrap();
        // Another process may take the port before sshd does; then the wait below fails.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        for name in ["host", "user"] {
            let key = folder.join(name);
            let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key).status();
            assert!(made.unwrap().success());
        }
        let dir = folder.display();
        let settings = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {dir}/host\nPidFile {dir}/pid\nAuthorizedKeysFile {dir}/user.pub\n\
             PasswordAuthentication no\nUsePAM no\nStrictModes no\nPermitRootLogin prohibit-password\nMaxStartups 100\n\
             SetEnv PATH={path} HOME={dir}\n"
        );
        fs::write(folder.join("sshd_config"), settings).unwrap();
        // sshd needs its folder for processes without privileges.
        if crate::support::is_root() {
            fs::create_dir_all("/run/sshd").unwrap();
        }
        let mut sshd = Command::new("/usr/sbin/sshd");
        sshd.args(["-D", "-f"]).arg(folder.join("sshd_config")).arg("-E").arg(folder.join("log"));
        let daemon = sshd.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_for("sshd", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok().then_some(()));
        Self { daemon, port, folder: folder.to_owned() }
    }

    /// Returns the settings of ssh with which names that match a pattern lead here.
    pub fn settings(&self, pattern: &str) -> String {
        let (port, dir) = (self.port, self.folder.display());
        format!(
            "Host {pattern}\n HostName 127.0.0.1\n Port {port}\n IdentityFile {dir}/user\n IdentitiesOnly yes\n \
             StrictHostKeyChecking no\n UserKnownHostsFile {dir}/known\n LogLevel ERROR\n"
        )
    }
}

impl Drop for SshDaemon {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}
