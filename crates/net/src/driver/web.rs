//! Counters for Prometheus and the status as JSON, over plain HTTP for the machine's owner.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};

use super::Status;
use crate::counters::Counters;
use crate::session::Report;

pub(super) struct Web {
    pub(super) address: SocketAddr,
    pub(super) node: u32,
    pub(super) counters: Arc<Counters>,
    pub(super) status: Arc<Mutex<Option<Status>>>,
}

/// Requests at a time; more wait.
const REQUESTS: usize = 8;
/// A request line and headers are no longer than this.
const REQUEST: usize = 4096;

impl Web {
    pub(super) async fn serve(self, reports: mpsc::Sender<Report>) {
        let listener = match TcpListener::bind(self.address).await {
            Ok(listener) => listener,
            Err(error) => {
                let reason = format!("metrics = {}: {error}", self.address);
                let _ = reports.send(Report::Failed(reason)).await;
                return;
            }
        };
        drop(reports);
        let places = Arc::new(Semaphore::new(REQUESTS));
        let web = Arc::new(self);
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let Ok((stream, _)) = listener.accept().await else { continue };
            let web = Arc::clone(&web);
            tokio::spawn(async move {
                let _ = tokio::time::timeout(Duration::from_secs(5), web.answer(stream)).await;
                drop(place);
            });
        }
    }

    async fn answer(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut request = Vec::new();
        while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < REQUEST {
            if stream.read_buf(&mut request).await? == 0 {
                break;
            }
        }
        let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let (code, kind, body) = match line {
            b"GET /metrics HTTP/1.1" | b"GET /metrics HTTP/1.0" => {
                let status = self.status.lock().expect("nobody panics with it").clone();
                let promised = status.map_or_else(String::new, |status| status.prometheus());
                let text = self.counters.prometheus(self.node) + &promised;
                ("200 OK", "text/plain; version=0.0.4; charset=utf-8", text)
            }
            b"GET /status HTTP/1.1" | b"GET /status HTTP/1.0" => {
                let status = self.status.lock().expect("nobody panics with it").clone();
                let json = serde_json::to_string(&status).expect("plain data");
                ("200 OK", "application/json", json)
            }
            _ => ("404 Not Found", "text/plain", "there are /metrics and /status\n".into()),
        };
        let head = format!(
            "HTTP/1.1 {code}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: \
             close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        stream.shutdown().await
    }
}
