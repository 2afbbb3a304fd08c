//! `tenure hold`: locks that another program uses.

use std::{io::IsTerminal, sync::Arc, time::Duration};

use nix::sys::signal::Signal;
use tenure::config::Config;

use crate::{
    args,
    exit::{Failure, by_signal},
    hold::{
        command::{self, HoldCommand},
        input::{self, Input, Line},
        parent::Parent,
        signals::ignore_other_signals,
        store::SharedStore,
        table::{Delivery, HoldName, MESSAGES, Table},
        task::{EndReason, HoldOutcome, HoldTask, Message},
    },
    output::{Event, Reporter, lines::EventLines, log, outbox::Outbox},
    run::{
        interrupt::FatalSignal,
        patience::WaitTimer,
        signals::{ENDING, Signals},
    },
    settings::{self, RunSettings},
};

/// How long the last lines may take to be read.
const READING: Duration = Duration::from_secs(1);
/// How long a store that does not answer may take to take back what may be held there.
const UNSETTLED: Duration = Duration::from_secs(60);

pub(super) async fn hold(
    args: args::Hold,
    common: &args::CommonArgs,
    voice: &mut Reporter,
) -> Result<u8, Failure> {
    // Before anything is said, which somebody may let wait.
    let parent = Parent::watch(args.parent);
    let outbox = Outbox::start()?;
    let log = if voice.is_verbose() { Some(log::write_in_background()?) } else { None };
    let lines = EventLines::new(&outbox);
    let has_person = std::io::stdin().is_terminal();
    let mut signals = Signals::new();
    signals.listen(&ENDING).map_err(Failure::failed)?;
    ignore_other_signals(!has_person);
    let begun = async {
        let parent = parent?;
        let program = voice.to_program(lines.clone());
        super::warn_of_surroundings(common, &program);
        let mut config = super::load(common, &program)?;
        super::keep_history(&mut config, args.history, args.names())?;
        let asking = &args.asking;
        voice.tell_with(settings::codes(asking.busy_exit_code, &asking.ends, &config));
        let plan = RunSettings::for_hold(&args, &config)?;
        let holding = Holding {
            voice: voice.clone(),
            program: voice.to_program(lines.clone()),
            lines: lines.clone(),
            // A person ends it by a key; a program by what it was started for.
            has_person,
            many: args.multiplex,
            store: Arc::new(SharedStore::new(config.clone(), voice.to_program(lines.clone()))),
            config,
            table: Table::default(),
            is_over: false,
            is_unread: false,
        };
        holding.run(&args, plan, &parent, &outbox, &mut signals).await
    };
    let done = begun.await;
    let done = match done {
        Err(failure) if voice.is_json() => {
            let code = voice.codes().of(&failure);
            lines.failure(&failure, code);
            Ok(code)
        }
        done => done,
    };
    outbox.flush(READING).await;
    if let Some(log) = log {
        log.flush(READING).await;
    }
    done
}

/// What all holds of this process have in common.
struct Holding {
    config: Config,
    store: Arc<SharedStore>,
    voice: Reporter,
    /// Tells what is about no hold.
    program: Reporter,
    lines: EventLines,
    has_person: bool,
    many: bool,
    table: Table,
    /// Whether no more is asked for: the input or the parent has ended, or a person ended it.
    is_over: bool,
    /// Whether nobody reads any more.
    is_unread: bool,
}

/// What the loop woke up for.
enum Woken {
    Line(Option<Line>),
    Ended(HoldName, HoldOutcome),
    Parent,
    Unread,
    Signal(Signal),
}

impl Holding {
    async fn run(
        mut self,
        args: &args::Hold,
        plan: RunSettings,
        parent: &Parent,
        outbox: &Outbox,
        signals: &mut Signals,
    ) -> Result<u8, Failure> {
        let mut input = input::read()?;
        let is_empty = input.is_empty().await;
        if !self.many {
            self.begin(None, args, plan);
        }
        if is_empty {
            // Before anything can be acquired.
            self.end_all();
        }
        let done = self.serve(&mut input, parent, outbox, signals).await;
        self.table.settle().await;
        if let Some(tenure) = self.store.opened() {
            super::close_store(tenure, &done).await;
            if self.table.is_unsettled() {
                // Else whoever is next waits for the rest of a lease.
                tokio::select! {
                    _ = tenure.shutdown(UNSETTLED) => {}
                    _ = signals.next_ending() => {}
                }
            }
        }
        done
    }

    /// Obeys until nothing is held, and no more can be asked for.
    async fn serve(
        &mut self,
        input: &mut Input,
        parent: &Parent,
        outbox: &Outbox,
        signals: &mut Signals,
    ) -> Result<u8, Failure> {
        let codes = self.voice.codes();
        let (mut code, mut interrupt) = (0, None);
        while !(self.table.is_empty() && (self.is_over || self.is_unread || !self.many)) {
            let woken = tokio::select! {
                biased;
                () = parent.ended(), if !self.is_over => Woken::Parent,
                Some((name, outcome)) = self.table.next_ended() => Woken::Ended(name, outcome),
                signal = signals.next() => Woken::Signal(signal),
                () = outbox.unread(), if !self.is_unread => Woken::Unread,
                line = input.next(), if !self.is_over => Woken::Line(line),
            };
            match woken {
                Woken::Parent | Woken::Line(None) => self.end_all(),
                Woken::Unread => {
                    self.is_unread = true;
                    self.table.end_all(EndReason::Unread);
                }
                Woken::Signal(signal) if self.has_person || self.table.is_empty() => {
                    interrupt = Some(signal as i32);
                    self.end_all();
                }
                Woken::Signal(signal) => self.table.signal_all(signal),
                Woken::Line(Some(line)) => self.obey(line),
                Woken::Ended(name, HoldOutcome::Failed(failure)) if self.many => {
                    self.lines.of_hold(name).failure(&failure, codes.of(&failure));
                }
                Woken::Ended(_, HoldOutcome::Failed(failure)) => return Err(failure),
                Woken::Ended(..) if self.many => {}
                Woken::Ended(_, outcome) => {
                    code = match outcome {
                        HoldOutcome::GivenUp { asked: false } | HoldOutcome::InDoubt => {
                            codes.failed
                        }
                        HoldOutcome::Lost(_) => codes.lost,
                        _ => 0,
                    }
                }
            }
        }
        let Some(signal) = interrupt else { return Ok(code) };
        if code == codes.lost || code == codes.failed {
            return Ok(code);
        }
        if let (Some(typed), Some(tenure)) =
            (FatalSignal::from_typed_signal(signal), self.store.opened())
        {
            super::close_store(tenure, &Ok(code)).await;
            outbox.flush(READING).await;
            typed.die();
        }
        Ok(by_signal(signal))
    }

    fn end_all(&mut self) {
        self.is_over = true;
        self.table.end_all(EndReason::Over);
    }

    fn obey(&mut self, line: Line) {
        let (hold, id) = line.as_deref().map(command::about).unwrap_or_default();
        let hold = if self.many { hold.map(Arc::from) } else { None };
        let command = line.and_then(|line| command::parse(&line, self.many));
        if let Err(why) = command.and_then(|command| self.obey_command(command, &hold)) {
            self.tell(&hold, &Event::Refused { why: &why, id: id.as_ref() });
        }
    }

    fn obey_command(&mut self, command: HoldCommand, hold: &HoldName) -> Result<(), String> {
        match command {
            HoldCommand::Check(_, id) => {
                match self.table.message(hold, Message::Check(id.clone())) {
                    Delivery::Passed => {}
                    // It is over, which is an answer.
                    Delivery::NoHold => {
                        let id = id.as_ref();
                        self.tell(hold, &Event::Checked { name: None, id, valid: None });
                    }
                    Delivery::Full => return Err(format!("{MESSAGES} checks are unanswered")),
                }
                Ok(())
            }
            HoldCommand::Release(_) if self.table.release(hold) || !self.many => Ok(()),
            HoldCommand::Release(_) => Err(format!("there is no hold called {:?}", name_of(hold))),
            HoldCommand::Acquire(_, asked) => {
                self.table.check_room(hold)?;
                let plan = RunSettings::for_hold(&asked, &self.config)
                    .map_err(|failure| failure.explanation().line())?;
                self.begin(hold.clone(), &asked, plan);
                Ok(())
            }
        }
    }

    fn tell(&self, hold: &HoldName, event: &Event<'_>) {
        match hold {
            None => self.program.event(event),
            Some(_) => self.voice.to_program(self.lines.of_hold(hold.clone())).event(event),
        }
    }

    fn begin(&mut self, hold: HoldName, args: &args::Hold, plan: RunSettings) {
        let voice = self.voice.to_program(self.lines.of_hold(hold.clone()));
        voice.set_holder_label(plan.event_label());
        let (names, store) = (args.names().cloned().collect(), self.store.clone());
        let wait = WaitTimer::begin(plan.patience);
        self.table.begin(hold, |messages, end| HoldTask {
            store,
            names,
            plan,
            wait,
            voice,
            messages,
            end,
        });
    }
}

fn name_of(hold: &HoldName) -> &str {
    hold.as_deref().unwrap_or_default()
}
