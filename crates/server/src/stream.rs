//! A connection's bytes: a client that does not read its answer is cut off, and one that still
//! sends when the connection is closed can read why.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;

/// How long, after the last answer, bytes that a client still sends are read and discarded.
const LINGER: Duration = Duration::from_secs(1);
/// How much of it.
const LINGER_BYTES: usize = 32 << 20;

/// A stream whose writes may stall only for a bounded time, and which lingers when it is shut down:
/// closing a socket with unread bytes resets it, and the client would lose the answer.
pub(crate) struct Stream<T> {
    inner: T,
    stall: Duration,
    stopping: CancellationToken,
    /// Set while a write waits, and while the stream lingers.
    timer: Option<Pin<Box<Sleep>>>,
    /// Set once the writing side is shut: how many more bytes are discarded.
    lingering: Option<usize>,
}

impl<T: AsyncRead + AsyncWrite + Unpin> Stream<T> {
    /// A stream whose client may read nothing for at most `stall`. It does not linger once
    /// `stopping`.
    pub(crate) fn new(inner: T, stall: Duration, stopping: CancellationToken) -> Stream<T> {
        Stream { inner, stall, stopping, timer: None, lingering: None }
    }

    /// Passes a write's outcome, or fails when writes have stalled for too long.
    fn bound<W>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<W>>,
    ) -> Poll<io::Result<W>> {
        if written.is_ready() {
            self.timer = None;
            return written;
        }
        ready!(self.poll_timer(cx, self.stall));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn poll_timer(&mut self, cx: &mut Context<'_>, limit: Duration) -> Poll<()> {
        let sleep = || Box::pin(tokio::time::sleep_until(Instant::now() + limit));
        self.timer.get_or_insert_with(sleep).as_mut().poll(cx)
    }

    /// Discards incoming bytes until the client is done or the limits are reached.
    fn poll_linger(&mut self, cx: &mut Context<'_>, mut left: usize) -> Poll<io::Result<()>> {
        let mut scrap = [0; 16 << 10];
        while left > 0 && !self.stopping.is_cancelled() {
            let mut buffer = ReadBuf::new(&mut scrap);
            match Pin::new(&mut self.inner).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    left = left.saturating_sub(buffer.filled().len());
                    self.lingering = Some(left);
                }
                Poll::Ready(_) => break,
                Poll::Pending => return self.poll_timer(cx, LINGER).map(Ok),
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Stream<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.bound(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, slices);
        self.bound(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let left = match self.lingering {
            Some(left) => left,
            None => {
                ready!(Pin::new(&mut self.inner).poll_shutdown(cx))?;
                self.timer = None;
                *self.lingering.insert(LINGER_BYTES)
            }
        };
        self.poll_linger(cx, left)
    }
}
