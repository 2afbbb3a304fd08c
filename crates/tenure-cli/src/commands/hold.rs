//! `tenure hold`: locks that another program uses.

use std::{io::IsTerminal, sync::Arc, time::Duration};

use tenure::{Tenure, config::Config};
use tokio::sync::mpsc;

use crate::{
    args,
    exit::{Failure, by_signal},
    hold::{
        input::{self, Line},
        life::{EndReason, Life, LifeOutcome, Wish},
        order::{self, Order},
        parent::Parent,
        table::{HoldName, Table},
    },
    output::{Event, Reporter, lines::EventLines, outbox::Outbox},
    run::{
        acquire::{join_names, open_store},
        interrupt::FatalSignal,
        patience::WaitTimer,
        signals::{ENDING, Signals},
    },
    settings::RunSettings,
    store,
};

/// How long the last lines may take to be read.
const READING: Duration = Duration::from_secs(1);

pub(super) async fn hold(
    args: args::Hold,
    config: &Config,
    voice: &Reporter,
) -> Result<u8, Failure> {
    let parent = Parent::watch(args.parent)?;
    let plan = RunSettings::for_hold(&args, config)?;
    let outbox = Outbox::start()?;
    let program = voice.to_program(EventLines::new(&outbox, None));
    let mut signals = Signals::new();
    signals.listen(&ENDING).map_err(Failure::failed)?;
    let holding = Holding {
        config,
        voice: voice.clone(),
        outbox: outbox.clone(),
        // A person ends it by a key; a program by what it was started for.
        has_person: std::io::stdin().is_terminal(),
        many: args.multiplex,
        codes: voice.codes(),
    };
    let done = holding.run(args, plan, &parent, &program, &mut signals).await;
    let done = match done {
        Err(failure) if voice.is_json() => {
            let code = voice.codes().of(&failure);
            EventLines::new(&outbox, None).failure(&failure, code);
            Ok(code)
        }
        done => done,
    };
    outbox.flush(READING).await;
    done
}

/// How long a store that does not answer may take to take back what may be held there.
const UNSETTLED: Duration = Duration::from_secs(60);

/// What all holds of this process have in common.
struct Holding<'a> {
    config: &'a Config,
    voice: Reporter,
    outbox: Outbox,
    has_person: bool,
    many: bool,
    codes: crate::exit::ExitCodes,
}

/// What the loop woke up for.
enum Woken {
    Line(Option<Line>),
    Ended(HoldName, LifeOutcome),
    Parent,
    Unread,
    Signal(nix::sys::signal::Signal),
}

impl Holding<'_> {
    async fn run(
        self,
        args: args::Hold,
        plan: RunSettings,
        parent: &Parent,
        program: &Reporter,
        signals: &mut Signals,
    ) -> Result<u8, Failure> {
        let wait = WaitTimer::begin(plan.patience);
        let mut input = input::read()?;
        let name = join_names(args.names());
        let opening = async {
            tokio::select! {
                opened = open_store(self.config, &name, &plan, &wait, program) => opened.map(Some),
                () = parent.ended() => Ok(None),
                () = self.outbox.unread() => Ok(None),
            }
        };
        let Some(tenure) = signals.unless_ended(opening).await? else { return Ok(0) };
        store::report_location(&tenure, self.config, program);
        let mut table = Table::default();
        if !self.many {
            self.begin(None, &args, plan, wait, &tenure, &mut table);
        }
        let done = self.serve(&tenure, &mut table, &mut input, parent, program, signals).await;
        super::close_store(&tenure, &done).await;
        if table.is_unsettled() {
            // Else whoever is next waits for the rest of a lease.
            tokio::select! {
                _ = tenure.shutdown(UNSETTLED) => {}
                _ = signals.next_ending() => {}
            }
        }
        done
    }

    /// Obeys until nothing is held, and no more can be asked for.
    async fn serve(
        &self,
        tenure: &Tenure,
        table: &mut Table,
        input: &mut mpsc::Receiver<Line>,
        parent: &Parent,
        program: &Reporter,
        signals: &mut Signals,
    ) -> Result<u8, Failure> {
        let (mut code, mut is_over, mut is_unread) = (0, false, false);
        let mut interrupt = None;
        while !(table.is_empty() && (is_over || is_unread || !self.many)) {
            let woken = tokio::select! {
                biased;
                () = parent.ended(), if !is_over => Woken::Parent,
                Some((name, outcome)) = table.next_ended() => Woken::Ended(name, outcome),
                signal = signals.next() => Woken::Signal(signal),
                () = self.outbox.unread(), if !is_unread => Woken::Unread,
                line = input.recv(), if !is_over => Woken::Line(line),
            };
            match woken {
                Woken::Parent | Woken::Line(None) => {
                    is_over = true;
                    table.end_all(EndReason::Over);
                }
                Woken::Unread => {
                    is_unread = true;
                    table.end_all(EndReason::Unread);
                }
                Woken::Signal(signal) if self.has_person => {
                    interrupt = Some(signal as i32);
                    is_over = true;
                    table.end_all(EndReason::Over);
                }
                Woken::Signal(signal) => table.signal_all(signal),
                Woken::Line(Some(line)) => self.obey(line, tenure, table, program),
                Woken::Ended(name, outcome) => match outcome {
                    LifeOutcome::Failed(failure) if self.many => {
                        let code = self.codes.of(&failure);
                        EventLines::new(&self.outbox, name).failure(&failure, code);
                    }
                    LifeOutcome::Failed(failure) => return Err(failure),
                    _ if self.many => {}
                    LifeOutcome::Released | LifeOutcome::NotAcquired => {}
                    LifeOutcome::InDoubt => code = self.codes.failed,
                    LifeOutcome::Lost => code = self.codes.lost,
                },
            }
        }
        Ok(match interrupt {
            Some(signal) if code == 0 => {
                if let Some(typed) = FatalSignal::from_typed_signal(signal) {
                    super::close_store(tenure, &Ok(code)).await;
                    self.outbox.flush(READING).await;
                    typed.die();
                }
                by_signal(signal)
            }
            _ => code,
        })
    }

    fn obey(&self, line: Line, tenure: &Tenure, table: &mut Table, program: &Reporter) {
        let done = line.and_then(|line| order::parse(&line, self.many)).and_then(|order| {
            let none = |name: HoldName, found: bool| {
                let name = name.as_deref().unwrap_or_default();
                if found || !self.many {
                    Ok(())
                } else {
                    Err(format!("there is no hold called {name:?}"))
                }
            };
            match order {
                Order::Check(hold, id) => {
                    let hold: HoldName = hold.map(Arc::from);
                    let found = table.wish(&hold, Wish::Check(id.clone()));
                    if !found {
                        // It is over, which is an answer.
                        let voice = program.to_program(EventLines::new(&self.outbox, hold.clone()));
                        voice.event(&Event::Checked { name: None, id: id.as_ref(), valid: None });
                    }
                    Ok(())
                }
                Order::Release(hold) => {
                    let hold = hold.map(Arc::from);
                    let found = table.end(&hold);
                    none(hold, found)
                }
                Order::Acquire(hold, asked) => {
                    let hold = Some(Arc::from(hold));
                    table.check_room(&hold)?;
                    let plan = RunSettings::for_hold(&asked, self.config)
                        .map_err(|failure| failure.explanation().line())?;
                    let wait = WaitTimer::begin(plan.patience);
                    self.begin(hold, &asked, plan, wait, tenure, table);
                    Ok(())
                }
            }
        });
        if let Err(why) = done {
            program.event(&Event::Refused { why: &why });
        }
    }

    fn begin(
        &self,
        hold: HoldName,
        args: &args::Hold,
        plan: RunSettings,
        wait: WaitTimer,
        tenure: &Tenure,
        table: &mut Table,
    ) {
        let voice = self.voice.to_program(EventLines::new(&self.outbox, hold.clone()));
        voice.set_holder_label(plan.event_label());
        let (names, tenure) = (args.names().cloned().collect(), tenure.clone());
        table.begin(hold, |wishes, end| Life { tenure, names, plan, wait, voice, wishes, end });
    }
}
