//! What tenure says, to people and to programs.

pub(crate) mod bench;
pub(crate) mod diagnostics;
mod event;
pub(crate) mod handing_over;
pub(crate) mod history;
pub(crate) mod human;
pub(crate) mod json;
pub(crate) mod lines;
pub(crate) mod log;
pub(crate) mod outbox;
mod rows;
pub(crate) mod schedule;
pub(crate) mod spinner;
pub(crate) mod tables;

use std::{
    io::{self, IsTerminal, Write},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use tracing_subscriber::{
    field::MakeExt,
    filter::{LevelFilter, Targets, filter_fn},
    fmt::{self, format::debug_fn},
    layer::SubscriberExt,
    registry,
    util::SubscriberInitExt,
};

use tenure_core::plain::plain;

pub(crate) use self::event::{CommandFate, Event};
use self::{json::ToJsonLine, lines::EventLines};
use crate::{
    args::CommonArgs,
    exit::{ExitCodes, Failure},
    explanation::Explanation,
    outcome::SlotOutcome,
    record::{RunRecord, SlotNews},
};

/// How tenure speaks of itself: on stderr alone, as stdout belongs to the command.
#[derive(Clone, Debug)]
pub(crate) struct Reporter {
    json: bool,
    quiet: bool,
    verbose: bool,
    codes: ExitCodes,
    /// What becomes of the run, if that is recorded.
    record: Arc<OnceLock<RunRecord>>,
    /// Whether it was said that the record cannot be written.
    said_unwritten: Arc<AtomicBool>,
    /// What the locks of this command are labelled with, once that is known.
    label: Arc<OnceLock<String>>,
    /// Where events are told instead, to the program that this command holds locks for.
    program: Option<EventLines>,
}

impl Reporter {
    /// Speaks as the flags ask for, and lets the library's own log be heard with -v.
    pub(crate) fn new(common: &CommonArgs) -> Self {
        let level = match common.verbose {
            0 => None,
            1 => Some(LevelFilter::INFO),
            2 => Some(LevelFilter::DEBUG),
            _ => Some(LevelFilter::TRACE),
        };
        if let Some(level) = level {
            let ours = Targets::new().with_target("tenure", level);
            // What servers and others say stands in fields and messages.
            let fields = debug_fn(|out, field, value| {
                let text = plain(&format!("{value:?}"));
                match field.name() {
                    "message" => write!(out, "{text}"),
                    name => write!(out, "{name}={text}"),
                }
            });
            let fields = fields.delimited(" ");
            let log = fmt::layer().with_writer(|| log::LogWriter).with_ansi(colours());
            let log = log.fmt_fields(fields);
            let all = common.verbose > 1;
            // A second subscriber cannot come up: this is the only place that sets one.
            let told = filter_fn(move |event| all || !is_reported_elsewhere(event));
            let _ = registry().with(log).with(ours).with(told).try_init();
        }
        Self {
            json: common.json,
            quiet: common.quiet,
            verbose: common.verbose > 0,
            codes: ExitCodes::default(),
            record: Arc::default(),
            said_unwritten: Arc::default(),
            label: Arc::default(),
            program: None,
        }
    }

    /// From now on tells events to the program that this command holds locks for.
    pub(crate) fn to_program(&self, lines: EventLines) -> Self {
        Self { program: Some(lines), label: Arc::default(), ..self.clone() }
    }

    /// From now on tells with these exit codes what became of it all.
    pub(crate) fn tell_with(&mut self, codes: ExitCodes) {
        self.codes = codes;
    }

    /// From now on tells programs that the holder has this label.
    pub(crate) fn set_holder_label(&self, label: Option<&str>) {
        if let Some(label) = label {
            // One command holds under one label.
            let _ = self.label.set(label.to_owned());
        }
    }

    /// The exit codes that tell what became of it all.
    pub(crate) const fn codes(&self) -> ExitCodes {
        self.codes
    }

    /// Whether somebody wants to hear more.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Whether nothing but errors is to be said.
    pub(crate) const fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether answers are JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Whether a person watches.
    pub(crate) fn has_terminal(&self) -> bool {
        !self.json && !self.quiet && self.program.is_none() && io::stderr().is_terminal()
    }

    /// Tells what happened, if it is wanted.
    pub(crate) fn event(&self, event: &Event<'_>) {
        self.emit_event(event, self.wants(event));
    }

    /// Tells what happened, also if nobody asked for it but a person watches.
    pub(crate) fn show(&self, event: &Event<'_>) {
        self.emit_event(event, self.wants(event) || self.has_terminal());
    }

    fn emit_event(&self, event: &Event<'_>, wanted: bool) {
        if let Some(record) = self.record.get() {
            self.record(record, event);
        }
        if let Some(lines) = &self.program {
            lines.event(event, self);
        } else if self.json {
            say(&json::event(event, self.holder_label()).printed());
        } else if wanted {
            say(&format!("tenure: {}", human::event(event)));
        }
    }

    /// What the locks of this command are labelled with, if that is known.
    fn holder_label(&self) -> Option<&str> {
        self.label.get().map(String::as_str)
    }

    /// From now on keeps a record of what happens.
    pub(crate) fn set_record(&self, record: RunRecord) {
        // One command has one run.
        let _ = self.record.set(record);
    }

    /// Records why nothing is run, if that is for a slot.
    pub(crate) fn record_failure(&self, failure: &Failure) {
        if let (Some(record), Failure::Skipped { skipped, .. }) = (self.record.get(), failure) {
            let outcome = SlotOutcome::Skipped(skipped.why);
            record.slot(SlotNews { slot: skipped.slot.id.clone(), outcome });
        }
    }

    /// Records that the command was started just now.
    pub(crate) fn record_start(&self) {
        let Some(record) = self.record.get() else { return };
        let voice = self.clone();
        record.started(move |recorded| voice.check_recorded(recorded));
    }

    /// Completes the record: all is over, and the exit code is this one.
    pub(crate) fn record_end(&self, code: u8, is_lost: bool) {
        if let Some(record) = self.record.get() {
            self.check_recorded(record.end(code, is_lost));
        }
    }

    /// Tells in one line what became of it all, if that is wanted.
    pub(crate) fn summarize(&self, code: u8) {
        if let Some(record) = self.record.get()
            && record.wants_summary()
        {
            self.event(&Event::Summary(&record.summary(code)));
        }
    }

    fn record(&self, record: &RunRecord, event: &Event<'_>) {
        match *event {
            Event::Acquired { name, token, waited } => record.acquired(name, token, waited),
            Event::Ended { ran, code, .. } => record.ended(ran, code),
            Event::Lost { reason, .. } => record.lost(reason),
            Event::SlotBegins { slot, is_marked: false, .. } => {
                record.slot(SlotNews { slot: slot.clone(), outcome: SlotOutcome::Open });
            }
            Event::SlotBegins { slot, .. } | Event::SlotFinished { slot, .. } => {
                record.slot(SlotNews { slot: slot.clone(), outcome: SlotOutcome::Finished });
            }
            _ => {}
        }
    }

    /// The run is worth more than its record. Once is enough for both its start and its end.
    fn check_recorded(&self, recorded: Result<(), String>) {
        if let Err(why) = recorded
            && !self.said_unwritten.swap(true, Ordering::Relaxed)
        {
            self.event(&Event::MetricsNotWritten { why: &why });
        }
    }

    fn wants(&self, event: &Event<'_>) -> bool {
        match event {
            Event::Lost { .. } | Event::Broken { .. } | Event::Summary(_) => true,
            Event::Stopped { .. }
            | Event::ReleaseRequested { .. }
            | Event::ToldToEnd { .. }
            | Event::Refused { .. }
            | Event::ReleaseFailed { .. }
            | Event::CampaignFailed { .. }
            | Event::MetricsNotWritten { .. }
            | Event::ReasonNotTold { .. }
            | Event::SlotStaysOpen { .. }
            | Event::FileStays { .. }
            | Event::ExportDown { .. }
            | Event::ExportUp
            | Event::UnknownVariable { meant: Some(_), .. }
            | Event::PasswordShown
            | Event::ForeignConfiguration { .. } => !self.quiet,
            Event::Store { .. }
            | Event::UnknownVariable { meant: None, .. }
            | Event::Waiting { .. }
            | Event::Asking { .. }
            | Event::StoreUnreachable { .. }
            | Event::QueueFull { .. }
            | Event::Acquired { .. }
            | Event::AcquiredAll { .. }
            | Event::Checked { .. }
            | Event::GivenUp { .. }
            | Event::Renewed { .. }
            | Event::AtRisk { .. }
            | Event::Recovered { .. }
            | Event::Ended { .. }
            | Event::Released { .. }
            | Event::Detached { .. }
            | Event::WaitingForSlot { .. }
            | Event::SlotBegins { .. }
            | Event::SlotFinished { .. }
            | Event::Serving { .. } => self.verbose,
        }
    }

    /// Says what an answer without a word would leave open, if a person watches or asked for more.
    pub(crate) fn remark(&self, text: &str) {
        if !self.json && (self.verbose || self.has_terminal()) {
            say(&format!("tenure: {}", plain(text)));
        }
    }

    /// Tells why tenure ends without having done what it was asked.
    pub(crate) fn failure(&self, failure: &Failure) {
        let wanted = match failure {
            // Whoever tries once looks at the exit code, as in a crontab, where each word is a mail.
            Failure::Busy { tried: true, .. } | Failure::Skipped { is_missed: false, .. } => {
                self.hears_of_busy()
            }
            Failure::Busy { .. } | Failure::Declined(_) | Failure::Skipped { .. } => !self.quiet,
            _ => true,
        };
        if self.json {
            say(&json::failure(failure, self.codes.of(failure)).printed());
        } else if wanted {
            say(&human::failure(failure));
        }
    }

    /// Whether anybody wants to know who has a lock that was only tried.
    pub(crate) fn hears_of_busy(&self) -> bool {
        self.json || self.verbose || self.has_terminal()
    }
}

/// Tells why a command line is not even read, or a command not started; with an exit code as JSON.
pub(crate) fn refuse(failure: &Failure, json: Option<u8>) {
    match json {
        Some(code) => say(&json::failure(failure, code).printed()),
        None => say(&human::failure(failure)),
    }
}

/// Says why a command line is not read, as it was put already.
pub(crate) fn misread(text: &str) {
    // The prefix of all that tenure says of itself, as the command writes to the same place.
    let _ = write!(anstream::stderr(), "tenure: {text}");
}

/// The fields of events of which the command itself tells: why a lock was not acquired, that it was lost or is at risk,
/// that somebody asks for it, that it leads.
const REPORTED_ELSEWHERE: [&str; 5] = ["error", "reason", "at_risk", "request", "term"];

fn is_reported_elsewhere(event: &tracing::Metadata<'_>) -> bool {
    REPORTED_ELSEWHERE.iter().any(|field| event.fields().field(field).is_some())
}

fn colours() -> bool {
    anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never
}

/// Writes a line on stderr. That nobody reads it must not end a command under a lock.
fn say(line: &str) {
    let _ = writeln!(anstream::stderr(), "{line}");
}

/// Writes the answer of a command on stdout.
pub(crate) fn write_answer(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout();
    match writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush()) {
        // A reader that has seen enough, as `head`, is no failure.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let why = Explanation::new("the answer cannot be written to standard output");
            Err(Failure::Failed(why.because(&error)))
        }
        _ => Ok(()),
    }
}
