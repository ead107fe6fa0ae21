//! Why a command failed.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use ff_api::ErrorView;
use ff_core::{Code, Refusal};
use ff_sdk::SdkError;
use ff_store::ring::FileError;
use ff_store::{Failure, StoreError};

use crate::exit::Exit;
use crate::output::Output;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The command line is invalid.
    #[error("{message}")]
    Usage {
        /// The flag or argument at fault.
        field: &'static str,
        /// What is wrong with it and what would be right.
        message: String,
    },
    /// The store or the machine refused, or the store failed.
    #[error(transparent)]
    Store(StoreError),
    /// No server answers at the address.
    #[error(
        "no server answers at {url}: {why}; start one with `ff dev` or `ff serve --store \
         sqlite:PATH`, or give --store sqlite:PATH to work without one"
    )]
    NoServer {
        /// Where.
        url: String,
        /// What happened instead.
        why: String,
    },
    /// The server requires a token.
    #[error("the server at {url} requires its token, and FF_TOKEN is not set to it")]
    Unauthenticated {
        /// Which server.
        url: String,
    },
    /// There is no store, and this command makes none.
    #[error(
        "there is no store: {} does not exist; check the path, or make a store there with `ff serve` or \
         `ff submit`",
        .0.display()
    )]
    NoStore(PathBuf),
    /// No execution was found whose id begins with the prefix.
    #[error(
        "no execution was found whose id begins with {0}; only the newest and those of its time are \
         looked through, so give the whole id of an old one"
    )]
    NoSuchId(String),
    /// Several ids begin with the prefix.
    #[error("{0}")]
    AmbiguousId(String),
    /// The execution did not end while it was waited for.
    #[error("{0}")]
    WaitTimeout(String),
    /// The output cannot be written.
    #[error("cannot write to stdout: {0}")]
    Output(io::Error),
    /// The server cannot start.
    #[error(transparent)]
    Server(#[from] ff_server::ConfigError),
    /// A benchmark did not finish.
    #[error(transparent)]
    Bench(ff_bench::BenchError),
    /// The program of a worker cannot be run on this machine.
    #[error(
        "the program of this worker cannot be run: {0}; the work was handed back; give --exec a \
         command that this machine has and may execute"
    )]
    Program(String),
    /// The process cannot do what it must to start.
    #[error("cannot start: {0}")]
    Runtime(io::Error),
}

impl Error {
    /// The codes that only this program gives, for the reference page.
    pub(crate) const CODES: &[(&str, &str)] = &[
        (
            "wait_timeout",
            "The execution did not end within the time given to `ff wait --timeout` or \
             `ff submit --wait --timeout`. It keeps running; inspect it with `ff show`.",
        ),
        (
            "ambiguous_id",
            "Several executions have an id that begins with the given prefix. Give more of it. Nothing \
             was changed.",
        ),
        (
            "store_missing",
            "There is no store at the path. `ff serve`, `ff dev`, `ff worker` and `ff submit` create one; every other command requires an existing store. Nothing was created.",
        ),
        ("output_failed", "Output could not be written to stdout."),
        (
            "program_not_runnable",
            "The program that `ff worker --exec` was given ended with 126 or 127: a shell found it not \
             executable, or did not find it. Its work was handed back, which costs no retry, and the \
             worker has stopped.",
        ),
        (
            "start_failed",
            "The process could not start: its runtime, its signal handlers, or the server, whose \
             message says what is wrong with its address or token.",
        ),
    ];

    /// A command line that makes no sense.
    pub(crate) fn usage(field: &'static str, message: impl Into<String>) -> Error {
        Error::Usage { field, message: message.into() }
    }

    /// What is printed with `--json`.
    pub(crate) fn view(&self) -> ErrorView {
        let plain = |code: &str| ErrorView {
            code: code.to_owned(),
            message: self.to_string(),
            field: None,
            retryable: false,
        };
        let failed = |failure: Failure| ErrorView {
            retryable: failure.is_retryable(),
            ..plain(failure.code())
        };
        match self {
            Error::Usage { field, .. } => ErrorView {
                field: Some((*field).to_owned()),
                ..plain(Code::InvalidArgument.as_str())
            },
            Error::Store(error) => error.into(),
            Error::NoServer { .. } => failed(Failure::Unreachable),
            Error::Unauthenticated { .. } => failed(Failure::Unauthenticated),
            Error::NoStore(_) => plain("store_missing"),
            Error::NoSuchId(_) => plain(Code::NotFound.as_str()),
            Error::AmbiguousId(_) => plain("ambiguous_id"),
            Error::WaitTimeout(_) => ErrorView { retryable: true, ..plain("wait_timeout") },
            Error::Output(_) => plain("output_failed"),
            Error::Program(_) => plain("program_not_runnable"),
            Error::Bench(ff_bench::BenchError::Store(error)) => error.into(),
            Error::Runtime(_) | Error::Server(_) | Error::Bench(_) => plain("start_failed"),
        }
    }

    /// Prints the error and gives the exit code. A closed stdout is no error: its reader has
    /// what it wanted.
    pub(crate) fn report(&self, output: &Output) -> ExitCode {
        if let Error::Output(error) = self
            && error.kind() == io::ErrorKind::BrokenPipe
        {
            return ExitCode::SUCCESS;
        }
        output.error(&self.view());
        self.exit().into()
    }

    fn exit(&self) -> Exit {
        match self {
            Error::Usage { .. } => Exit::Usage,
            Error::Store(error) | Error::Bench(ff_bench::BenchError::Store(error)) => {
                Exit::of(error.kind())
            }
            Error::NoServer { .. } => Exit::Unavailable,
            Error::Unauthenticated { .. } => Exit::Unauthenticated,
            Error::NoStore(_) => Exit::NoStore,
            Error::WaitTimeout(_)
            | Error::NoSuchId(_)
            | Error::AmbiguousId(_)
            | Error::Program(_)
            | Error::Output(_)
            | Error::Server(_)
            | Error::Bench(_)
            | Error::Runtime(_) => Exit::No,
        }
    }
}

/// Advice for a client of a server, in terms of the command line.
impl From<StoreError> for Error {
    fn from(error: StoreError) -> Error {
        match error {
            StoreError::Unreachable { url, why } => Error::NoServer { url, why },
            StoreError::Unauthenticated { url } => Error::Unauthenticated { url },
            error => Error::Store(error),
        }
    }
}

impl From<SdkError> for Error {
    fn from(error: SdkError) -> Error {
        match error {
            SdkError::Engine(error) => error.into(),
            error => Error::Runtime(io::Error::other(error)),
        }
    }
}

impl From<FileError> for Error {
    fn from(error: FileError) -> Error {
        Error::Store(error.into())
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::Store(refusal.into())
    }
}
