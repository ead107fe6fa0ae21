//! A proxy that delivers requests and, on request, cuts the connection before the reply.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::fixture::within;

/// A proxy in front of a server. It stops when it is dropped.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    cuts: Arc<Cuts>,
    running: JoinHandle<()>,
}

/// How many replies are still to be cut, and how many were.
#[derive(Default)]
struct Cuts {
    due: AtomicUsize,
    done: AtomicUsize,
}

impl Proxy {
    pub(crate) async fn to(server: SocketAddr) -> Proxy {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let cuts = Arc::new(Cuts::default());
        let shared = cuts.clone();
        let running = tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                tokio::spawn(relay(client, server, shared.clone()));
            }
        });
        Proxy { address, cuts, running }
    }

    /// The next `replies` replies are not delivered.
    pub(crate) fn cut_next(&self, replies: usize) {
        self.cuts.due.store(replies, Ordering::SeqCst);
    }

    /// How many replies were not delivered.
    pub(crate) fn cut(&self) -> usize {
        assert_eq!(self.cuts.due.load(Ordering::SeqCst), 0, "every cut that was due was made");
        self.cuts.done.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.running.abort();
    }
}

impl Cuts {
    /// Whether this reply is to be cut.
    fn take(&self) -> bool {
        let less = |due: usize| due.checked_sub(1);
        let taken = self.due.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok();
        self.done.fetch_add(taken.into(), Ordering::SeqCst);
        taken
    }
}

async fn relay(client: TcpStream, server: SocketAddr, cuts: Arc<Cuts>) {
    let server = within(TcpStream::connect(server)).await.unwrap();
    for end in [&client, &server] {
        end.set_nodelay(true).unwrap();
    }
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let requests = async {
        let _ = tokio::io::copy(&mut from_client, &mut to_server).await;
    };
    let replies = async {
        let mut some = vec![0; 64 << 10];
        while let Ok(read @ 1..) = from_server.read(&mut some).await {
            // The reply has arrived, so the server has done the work.
            if cuts.take() || to_client.write_all(&some[..read]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = requests => {}
        () = replies => {}
    }
}
