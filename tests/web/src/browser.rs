//! A headless Chromium, driven through chromedriver by WebDriver: JSON over plain HTTP.

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A browser with one page. Dropping it ends the browser.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    /// The browser's own profile: it never touches the user's.
    _folder: tempfile::TempDir,
}

impl Browser {
    /// Starts a browser. Saved files go into `downloads`.
    pub fn open(downloads: &Path) -> Result<Browser, String> {
        let folder = tempfile::tempdir().map_err(|why| why.to_string())?;
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // A group of its own, so that all its processes can be ended.
            .process_group(0)
            .spawn()
            .map_err(|why| format!("chromedriver: {why}"))?;
        let port = driver.stdout.take().and_then(port_of);
        let mut browser = Browser {
            driver,
            port: port.ok_or("chromedriver names no port")?,
            session: String::new(),
            _folder: folder,
        };
        let data = browser._folder.path().display();
        let args = [
            "--headless=new".to_owned(),
            "--no-sandbox".to_owned(),
            "--disable-gpu".to_owned(),
            "--use-gl=angle".to_owned(),
            "--use-angle=swiftshader".to_owned(),
            "--enable-unsafe-swiftshader".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--disable-quic".to_owned(),
            "--no-first-run".to_owned(),
            "--disable-background-networking".to_owned(),
            "--disable-component-update".to_owned(),
            "--disable-sync".to_owned(),
            "--hide-scrollbars".to_owned(),
            "--force-device-scale-factor=1".to_owned(),
            "--window-size=1280,860".to_owned(),
            format!("--user-data-dir={data}"),
        ];
        let preferences = json!({ "download.default_directory": downloads });
        let options = json!({ "args": args, "prefs": preferences });
        let wanted = json!({ "browserName": "chrome", "goog:chromeOptions": options });
        let begun = browser.call(
            "POST",
            "",
            &json!({ "capabilities": { "alwaysMatch": wanted } }),
        )?;
        let session = begun["sessionId"].as_str();
        browser.session = session.ok_or("no session")?.to_owned();
        Ok(browser)
    }

    /// Opens a page.
    pub fn go_to(&self, url: &str) -> Result<(), String> {
        self.call("POST", "/url", &json!({ "url": url })).map(drop)
    }

    /// Runs JavaScript, and returns its result.
    pub fn run(&self, script: &str) -> Result<Value, String> {
        self.call(
            "POST",
            "/execute/sync",
            &json!({ "script": script, "args": [] }),
        )
    }

    /// Chooses a file in this file input.
    pub fn choose(&self, input: &str, file: &Path) -> Result<(), String> {
        let place = json!({ "using": "css selector", "value": input });
        let found = self.call("POST", "/element", &place)?;
        let element = found
            .as_object()
            .and_then(|found| found.values().next()?.as_str());
        let path = format!("/element/{}/value", element.ok_or("no such element")?);
        self.call("POST", &path, &json!({ "text": file })).map(drop)
    }

    /// Presses and releases a key: a letter, or a code of WebDriver.
    pub fn press(&self, key: char) -> Result<(), String> {
        let presses =
            json!([{ "type": "keyDown", "value": key }, { "type": "keyUp", "value": key }]);
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": presses });
        self.call("POST", "/actions", &json!({ "actions": [keyboard] }))
            .map(drop)
    }

    /// The page as the bytes of a PNG.
    pub fn screenshot(&self) -> Result<Vec<u8>, String> {
        let picture = self.call("GET", "/screenshot", &Value::Null)?;
        let text = picture.as_str().ok_or("no picture")?;
        let decoded = data_encoding::BASE64.decode(text.as_bytes());
        decoded.map_err(|why| why.to_string())
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let path = match self.session.as_str() {
            "" => "/session".to_owned(),
            session => format!("/session/{session}{path}"),
        };
        let answer = ask(self.port, method, &path, body);
        let (good, mut answer) = answer.map_err(|why| format!("{method} {path}: {why}"))?;
        match good {
            true => Ok(answer["value"].take()),
            false => Err(format!("{method} {path}: {}", answer["value"]["message"])),
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            // If it does not end by itself, it is ended below.
            let _ = self.call("DELETE", "", &Value::Null);
        }
        let group = rustix::process::Pid::from_child(&self.driver);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.driver.wait();
    }
}

/// The port that chromedriver reports.
fn port_of(stdout: impl std::io::Read) -> Option<u16> {
    let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
    let line = lines.find(|line| line.contains("started successfully on port"))?;
    let number: String = line.chars().filter(char::is_ascii_digit).collect();
    number.parse().ok()
}

/// One request. Returns whether it succeeded, and the response.
fn ask(port: u16, method: &str, path: &str, body: &Value) -> std::io::Result<(bool, Value)> {
    let mut link = TcpStream::connect(("127.0.0.1", port))?;
    link.set_read_timeout(Some(LONGEST_ANSWER))?;
    let body = match body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    let length = body.len();
    write!(
        link,
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )?;
    let mut link = BufReader::new(link);
    let mut line = String::new();
    link.read_line(&mut line)?;
    let good = line.split(' ').nth(1) == Some("200");
    let mut length = 0;
    loop {
        line.clear();
        link.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().map_err(std::io::Error::other)?;
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut answer = vec![0; length];
    link.read_exact(&mut answer)?;
    Ok((good, serde_json::from_slice(&answer)?))
}

/// Repeats a request until it has a result.
pub fn until<T>(
    what: &str,
    mut ask: impl FnMut() -> Result<Option<T>, String>,
) -> Result<T, String> {
    let begun = now();
    loop {
        if let Some(answer) = ask()? {
            return Ok(answer);
        }
        if begun.elapsed() > LONGEST_WAIT {
            return Err(format!("{what}: not within {} s", LONGEST_WAIT.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The clock of waits.
pub fn now() -> Instant {
    Instant::now()
}

/// Longer than a busy machine takes to start a browser.
const LONGEST_ANSWER: Duration = Duration::from_secs(60);
/// Longer than a busy machine takes to run a replay.
const LONGEST_WAIT: Duration = Duration::from_secs(90);
