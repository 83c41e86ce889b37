//! A PostgreSQL server of our own: a new cluster in a temporary folder, on a free port of the
//! loopback interface, stopped at the end.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

use postgres::{Client, NoTls};
use sordino_testing::Scratch;

pub(crate) struct Server {
    process: Child,
    folder: Scratch,
    port: u16,
}

/// Servers of one test process.
static STARTED: AtomicU32 = AtomicU32::new(0);

impl Server {
    /// Fails with the reason, where PostgreSQL is not installed or cannot run.
    pub(crate) fn start() -> Result<Self, String> {
        let programs =
            programs().ok_or("`initdb` and `postgres` are not installed (Debian: apt install postgresql)")?;
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let folder = Scratch::new(&format!("postgres-{number}"));
        if is_root() {
            run(Command::new("chown").arg("nobody").arg(&*folder))?;
        }
        let data = folder.join("data");
        let mut initdb = as_nobody(&programs.join("initdb"));
        run(initdb
            .args(["--username=sordino", "--auth=trust", "--encoding=UTF8", "--no-locale", "-D"])
            .arg(&data))?;
        let port = free_port()?;
        let mut postgres = as_nobody(&programs.join("postgres"));
        postgres.arg("-D").arg(&data).arg("-k").arg(&*folder).args(["-p", &port.to_string()]);
        postgres.args(["-c", "listen_addresses=127.0.0.1", "-c", "max_connections=50"]);
        let log = fs::File::create(folder.with_extension("log")).map_err(|error| error.to_string())?;
        let process =
            postgres.stdout(Stdio::null()).stderr(log).spawn().map_err(|error| error.to_string())?;
        let server = Self { process, folder, port };
        for _ in 0..600 {
            if server.is_ready() {
                return Ok(server);
            }
            sleep(Duration::from_millis(100));
        }
        let said = fs::read_to_string(server.folder.with_extension("log")).unwrap_or_default();
        Err(format!("the server did not start within a minute: {said}"))
    }

    /// A new database.
    pub(crate) fn url(&self, database: &str) -> String {
        let mut client = Client::connect(&self.place("postgres"), NoTls).expect("the server answers");
        client.batch_execute(&format!("CREATE DATABASE {database}")).expect("a database can be made");
        self.place(database)
    }

    fn place(&self, database: &str) -> String {
        format!("postgres://sordino@127.0.0.1:{}/{database}", self.port)
    }

    fn is_ready(&self) -> bool {
        Client::connect(&self.place("postgres"), NoTls).is_ok()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGINT: a fast shutdown, which ends the server's own children too.
        let _ = Command::new("kill").args(["-INT", &self.process.id().to_string()]).status();
        let _ = self.process.wait();
        let _ = fs::remove_file(self.folder.with_extension("log"));
    }
}

/// Where the newest installed version has its programs.
fn programs() -> Option<PathBuf> {
    let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = installed.map(|entry| entry.path().join("bin")).collect();
    folders.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders.extend(std::env::split_paths(&path));
    folders
        .into_iter()
        .rev()
        .find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists())
}

/// PostgreSQL does not run as root. `setpriv` becomes the program, so that its id is the server's.
fn as_nobody(program: &Path) -> Command {
    let mut command = Command::new(if is_root() { Path::new("setpriv") } else { program });
    if is_root() {
        command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups", "--"]).arg(program);
    }
    // The caller's folder may be closed to that user.
    command.current_dir("/").env("LC_ALL", "C");
    command
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|error| error.to_string())?;
    Ok(listener.local_addr().map_err(|error| error.to_string())?.port())
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{command:?}: {said}")) }
}
