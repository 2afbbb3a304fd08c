//! `tenure export`: the locks in use as metrics.

use std::{convert::Infallible, net::SocketAddr, path::Path, sync::Arc};

use tenure::config::Config;

use crate::{
    args,
    exit::{Failure, by_signal},
    explanation::Explanation,
    export::{
        metrics::FAMILIES,
        server::{listen, serve},
        source::Source,
    },
    exposition::{file::MetricsFile, merge::merged, text::render},
    output::{Event, Reporter, write_answer},
    run::{
        interrupt::FatalSignal,
        signals::{ENDING, Signals},
    },
};

/// For each of them the store may be asked once more.
const MOST_PATTERNS: usize = 16;
const ASKING: &str = "interrupted while asking the store";
const SERVING: &str = "interrupted while serving metrics";

pub(super) async fn export(
    args: args::Export,
    config: Config,
    voice: &Reporter,
) -> Result<u8, Failure> {
    if args.names.len() > MOST_PATTERNS {
        let given = args.names.len();
        return Err(Failure::Usage(
            (
                format!("{given} patterns of names are too many"),
                format!("give at most {MOST_PATTERNS}; * stands for any characters"),
            )
                .into(),
        ));
    }
    let mut signals = Signals::new();
    signals.listen(&ENDING).map_err(Failure::failed)?;
    let source = Arc::new(Source::new(config, args.names, voice.clone()));
    let done = match (&args.file, args.once) {
        (Some(path), _) => signals.unless_interrupted(ASKING, write(&source, path)).await,
        (None, true) => signals.unless_interrupted(ASKING, print(&source)).await,
        (None, false) => {
            let serving = serve_at(args.listen, &source, voice);
            signals.unless_interrupted(SERVING, serving).await.map(|never| match never {})
        }
    };
    source.close().await;
    match done {
        // A signal is how serving ends, and no error.
        Err(Failure::Interrupted { signal, .. }) if args.file.is_none() && !args.once => {
            if let Some(typed) = FatalSignal::from_typed_signal(signal) {
                typed.die();
            }
            Ok(by_signal(signal))
        }
        done => done.map(|()| 0),
    }
}

async fn print(source: &Source) -> Result<(), Failure> {
    let (samples, outcome) = source.once().await;
    outcome?;
    write_answer(&render(&FAMILIES, &samples))
}

/// Replaces what is in the file of these metrics. Where the store does not answer it says so: what was held the last
/// time would be taken for what is.
async fn write(source: &Source, path: &Path) -> Result<(), Failure> {
    let unwritten = |error: std::io::Error| {
        let why = Explanation::new(format!("metrics cannot be written to {}", path.display()));
        let help = "name a file in a directory that exists and that this user may write to";
        Failure::Failed(why.because(&error).advise(help))
    };
    let file = MetricsFile::new(path).map_err(unwritten)?;
    let (samples, outcome) = source.once().await;
    if !matches!(outcome, Err(Failure::Usage(_))) {
        file.change(|text| merged(text, &FAMILIES, &samples, |_| true)).map_err(unwritten)?;
    }
    outcome
}

async fn serve_at(
    address: SocketAddr,
    source: &Arc<Source>,
    voice: &Reporter,
) -> Result<Infallible, Failure> {
    let listener = listen(address).await?;
    // Another port than 0, which stands for any that is free.
    let address = listener.local_addr().unwrap_or(address);
    voice.show(&Event::Serving { address });
    let serving = async { Ok(serve(listener, source.clone()).await) };
    let (never, ()) = tokio::try_join!(serving, source.check())?;
    Ok(never)
}
