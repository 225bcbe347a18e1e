//! What a running job looks like to Prometheus: `GET /metrics` on an address of this machine.
//!
//! The job leaves a look at itself ten times a second; `text` writes it out when somebody asks. Labels are the job, the
//! node and the direction, never the name of an object.

mod text;

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use self::text::written;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Progress;
use crate::verbose::verbose;

/// Who asks says so within this time, and in so many bytes.
const PATIENCE: Duration = Duration::from_secs(5);
const HEAD_MAX: usize = 8 << 10;

/// Answers that are given at once.
const ANSWERS: usize = 8;

/// A job as it looks now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Look {
    pub(crate) progress: Progress,
    pub(crate) requests: u64,
    pub(crate) bytes_wire: u64,
    /// Attempts that failed, by kind.
    pub(crate) errors: Vec<(ErrorKind, u64)>,
}

/// Whose look it is.
#[derive(Clone, Debug)]
pub(crate) struct Labels {
    pub(crate) job: Arc<str>,
    pub(crate) node: Arc<str>,
    pub(crate) direction: &'static str,
}

/// The metrics of a job, served as long as this lives.
#[derive(Debug)]
pub(crate) struct Metrics {
    look: Arc<Mutex<Look>>,
    _server: JoinSet<()>,
}

impl Metrics {
    /// Begins to serve. Must be called on a runtime.
    ///
    /// # Errors
    /// `Io` where nobody can listen at this address.
    pub(crate) fn serve(address: SocketAddr, labels: Labels) -> Result<Self> {
        let failed = |error| {
            Error::from_io("serve metrics at", address.to_string(), error)
                .hint("use another address or port: --metrics 127.0.0.1:9400")
        };
        let listener = TcpListener::bind(address).map_err(failed)?;
        // Port 0 is any free one.
        let taken = listener.local_addr().map_err(failed)?;
        verbose!(Info, "metrics: http://{taken}/metrics");
        listener.set_nonblocking(true).map_err(failed)?;
        let listener = tokio::net::TcpListener::from_std(listener).map_err(failed)?;
        let look = Arc::<Mutex<Look>>::default();
        let mut server = JoinSet::new();
        server.spawn(answer_all(listener, labels, Arc::clone(&look)));
        Ok(Self { look, _server: server })
    }

    /// From now on this is how the job looks.
    pub(crate) fn show(&self, look: Look) {
        *self.look.lock().unwrap_or_else(PoisonError::into_inner) = look;
    }
}

async fn answer_all(listener: tokio::net::TcpListener, labels: Labels, look: Arc<Mutex<Look>>) {
    let places = Arc::new(Semaphore::new(ANSWERS));
    let mut answers = JoinSet::new();
    loop {
        while answers.try_join_next().is_some() {}
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // Out of files for a moment, or who asked is gone.
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (labels, look) = (labels.clone(), Arc::clone(&look));
        answers.spawn(async move {
            // Who hangs up gets no answer.
            let _ = timeout(PATIENCE, answer(stream, &labels, &look)).await;
            drop(place);
        });
    }
}

async fn answer(mut stream: TcpStream, labels: &Labels, look: &Mutex<Look>) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > HEAD_MAX || stream.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let here = stream.local_addr()?.ip().is_loopback();
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split(|byte| *byte == b'?').next().unwrap_or_default();
    let (status, body) = match (method, path) {
        // A page from elsewhere whose name was made to point at this machine.
        _ if here && !is_asked_here(&head) => {
            ("421 Misdirected Request", "ask under the address of --metrics\n".to_owned())
        }
        (b"GET" | b"HEAD", b"/metrics") => {
            let look = look.lock().unwrap_or_else(PoisonError::into_inner).clone();
            ("200 OK", written(labels, &look))
        }
        (b"GET" | b"HEAD", _) => ("404 Not Found", "metrics are at /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "ask with GET\n".to_owned()),
    };
    let shown = if method == b"HEAD" { "" } else { &body };
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{shown}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}

/// Whether a request names this machine by an address of its own or as `localhost`, in the one header that says so.
fn is_asked_here(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head);
    let named = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    let mut hosts = named.filter(|(name, _)| name.eq_ignore_ascii_case("host")).map(|(_, host)| host.trim());
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    let name =
        host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(host, |(name, _)| name);
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    address.map_or_else(|_| name.eq_ignore_ascii_case("localhost"), |address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn it_answers_as_long_as_the_job_runs() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let labels = Labels { job: "j".into(), node: "n".into(), direction: "up" };
        let metrics = Metrics::serve(free, labels.clone()).unwrap();
        assert!(Metrics::serve(free, labels).unwrap_err().hint_text().is_some());
        metrics.show(Look { requests: 7, ..Look::default() });
        let answer = ask(free, "GET /metrics HTTP/1.1\r\nHost: localhost:1\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(
            answer.contains("haulage_requests_total{job=\"j\",node=\"n\",direction=\"up\"} 7\n"),
            "{answer}"
        );
        assert!(ask(free, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").await.starts_with("HTTP/1.1 404"));
        assert!(
            ask(free, "POST /metrics HTTP/1.1\r\nhost:[::1]:9\r\n\r\n").await.starts_with("HTTP/1.1 405")
        );
        for host in [
            "Host: evil.example\r\n",
            "",
            "Host: localhost\r\nHost: evil.example\r\n",
            "Host: 10.0.0.1:80\r\n",
        ] {
            let answer = ask(free, &format!("GET /metrics HTTP/1.1\r\n{host}\r\n")).await;
            assert!(answer.starts_with("HTTP/1.1 421"), "{host}");
        }
        drop(metrics);
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(TcpStream::connect(free).await.is_err());
    }
}
