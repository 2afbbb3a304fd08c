//! Plots: bars that lie, as SVG on white, so that they can be read on a dark page too.

use plotters::{
    coord::Shift,
    prelude::{
        Color, DrawingArea, IntoDrawingArea, IntoFont, PathElement, RGBColor, Rectangle,
        SVGBackend, Text, WHITE,
    },
    style::text_anchor::{HPos, Pos, VPos},
};

use super::{
    super::{
        roster::Keeps,
        run::{MESSAGE, Run, Spread, ours},
    },
    number,
};
use crate::failure::Failure;

const OURS: RGBColor = RGBColor(0xc2, 0x41, 0x0c);
const PEERS: RGBColor = RGBColor(0x64, 0x74, 0x8b);
const FLOOR: RGBColor = RGBColor(0xcb, 0xd5, 0xe1);
const INK: RGBColor = RGBColor(0x1f, 0x29, 0x37);
const WIDTH: i32 = 820;
const BAR: i32 = 22;
const HEAD: i32 = 40;
const NAMES: i32 = 130;
const NUMBERS: i32 = 240;

/// One plot: panels below each other.
pub(super) struct Plot {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// Where it stands on the page.
    beside: &'static str,
    panels: &'static [Panel],
}

/// What one panel shows, of which work.
struct Panel {
    title: &'static str,
    work: &'static str,
    key: &'static str,
    more_is_better: bool,
    /// Whether a step to the right is a factor.
    factors: bool,
    keeps: Keeps,
}

const fn panel(title: &'static str, work: &'static str, key: &'static str) -> Panel {
    let keeps = Keeps::Redis;
    Panel { title, work, key, more_is_better: true, factors: false, keeps }
}

const fn less(title: &'static str, work: &'static str, key: &'static str) -> Panel {
    Panel { more_is_better: false, ..panel(title, work, key) }
}

/// The one on the README.
pub(super) const README: &str = "peers";

/// All of them.
pub(super) const ALL: &[Plot] = &[
    Plot {
        name: README,
        title: "tenure beside its peers on Redis",
        beside: "",
        panels: &[
            Panel {
                factors: true,
                ..panel(
                    "256 tasks, one name: acquisitions a second (log scale)",
                    "hot-256",
                    "per_second",
                )
            },
            panel("256 tasks, each with its own name: pairs a second", "pair-256", "per_second"),
        ],
    },
    Plot {
        name: "pair",
        title: "Acquire and release, uncontended",
        beside: "pair",
        panels: &[
            panel("1 task on one core: pairs a second", "pair-1", "per_second"),
            panel("16 tasks: pairs a second", "pair-16", "per_second"),
            panel("256 tasks: pairs a second", "pair-256", "per_second"),
            less("256 tasks: server CPU of a pair, µs", "pair-256", "server_us"),
        ],
    },
    Plot {
        name: "handoff",
        title: "Hand-off between two processes",
        beside: "handoff",
        panels: &[
            Panel { factors: true, ..less("p50, µs (log scale)", "handoff", "p50_us") },
            Panel { factors: true, ..less("p99, µs (log scale)", "handoff", "p99_us") },
        ],
    },
    Plot {
        name: "hot",
        title: "One contended name",
        beside: "hot",
        panels: &[
            Panel {
                factors: true,
                ..panel("256 waiters: acquisitions a second (log scale)", "hot-256", "per_second")
            },
            Panel {
                factors: true,
                ..less("256 waiters: longest wait, ms (log scale)", "hot-256", "wait_max_ms")
            },
        ],
    },
    Plot {
        name: "hold",
        title: "Many holds, renewed",
        beside: "hold",
        panels: &[
            less("10,000 holds: server, % of a core", "hold-10k", "server_cpu"),
            less("10,000 holds: client, % of a core", "hold-10k", "client_cpu"),
        ],
    },
    Plot {
        name: "files",
        title: "On files",
        beside: "file-",
        panels: &[Panel {
            factors: true,
            keeps: Keeps::Files,
            ..less("Hand-off p50, µs (log scale)", "file-handoff", "p50_us")
        }],
    },
];

/// A bar, and what stands behind it.
struct Bar {
    who: String,
    value: Spread,
    remark: String,
}

impl Panel {
    fn bars(&self, run: &Run) -> Vec<Bar> {
        let there = run.at(self.keeps).map(|taking| taking.name.as_str());
        let mut bars: Vec<_> = there
            .chain([MESSAGE])
            .filter_map(|who| {
                let value = run.value(self.work, who, self.key)?;
                Some(Bar { who: who.to_owned(), value, remark: self.remark(run, who) })
            })
            .collect();
        bars.sort_by(|one, other| {
            let order = one.value.median.total_cmp(&other.value.median);
            if self.more_is_better { order.reverse() } else { order }
        });
        bars
    }

    /// Who was left out is told beside who was quick.
    fn remark(&self, run: &Run, who: &str) -> String {
        let most = |key| run.value(self.work, who, key).map_or(0.0, |all| all.most);
        match (most("never"), most("hung")) {
            (0.0, 0.0) => String::new(),
            (never, 0.0) => format!(", {never} never granted"),
            (0.0, hung) => format!(", {hung} hung"),
            (never, hung) => format!(", {never} never granted, {hung} hung"),
        }
    }

    fn draw(
        &self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
        top: i32,
        bars: &[Bar],
    ) -> Result<(), Failure> {
        // A fourth larger than what is drawn: without a font at hand the crate takes them for smaller.
        let left = |size| ("sans-serif", size).into_font().color(&INK);
        let title = left(19).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(self.title, (12, top + HEAD / 2), title))?;
        let most = bars.iter().map(|bar| bar.value.most).fold(f64::MIN_POSITIVE, f64::max);
        // Nothing has no place among factors; it is drawn as the shortest.
        let seen = bars.iter().map(|bar| bar.value.least).filter(|value| *value > 0.0);
        let least = seen.fold(most, f64::min);
        // The shortest bar has a step of its own, or it would not be seen.
        let floor = least.log10().floor() - 0.3;
        let space = f64::from(WIDTH - NAMES - NUMBERS);
        let at = |value: f64| {
            let part = if self.factors {
                (value.max(f64::MIN_POSITIVE).log10() - floor) / (most.log10() - floor)
            } else {
                value / most
            };
            NAMES + (part.clamp(0.0, 1.0) * space) as i32
        };
        for step in (floor.ceil() as i32)..=(most.log10().floor() as i32) {
            let x = at(10_f64.powi(step));
            let ends = [(x, top + HEAD), (x, top + HEAD + BAR * bars.len() as i32)];
            if self.factors {
                area.draw(&PathElement::new(ends.to_vec(), FLOOR.stroke_width(1)))?;
            }
        }
        for (row, bar) in (0..).zip(bars) {
            let y = top + HEAD + row * BAR;
            let middle = y + BAR / 2;
            let color = match &*bar.who {
                MESSAGE => FLOOR,
                who if ours(who) => OURS,
                _ => PEERS,
            };
            let right = left(16).pos(Pos::new(HPos::Right, VPos::Center));
            area.draw(&Text::new(bar.who.clone(), (NAMES - 8, middle), right))?;
            let end = at(bar.value.median).max(NAMES + 1);
            area.draw(&Rectangle::new([(NAMES, y + 4), (end, y + BAR - 4)], color.filled()))?;
            let mut behind = end;
            if bar.value.least < bar.value.most {
                let ends = [(at(bar.value.least), middle), (at(bar.value.most), middle)];
                area.draw(&PathElement::new(ends.to_vec(), INK.stroke_width(1)))?;
                behind = behind.max(ends[1].0);
            }
            let text = format!("{}{}", number(bar.value.median), bar.remark);
            let after = left(15).pos(Pos::new(HPos::Left, VPos::Center));
            area.draw(&Text::new(text, (behind + 6, middle), after))?;
        }
        Ok(())
    }
}

impl Plot {
    /// Whether it stands beside these works.
    pub(super) fn beside(&self, works: &str) -> bool {
        self.beside == works
    }

    /// Whether there is anything to draw.
    pub(super) fn has(&self, run: &Run) -> bool {
        self.panels.iter().any(|panel| !panel.bars(run).is_empty())
    }

    /// The SVG, or nothing where nothing of it was measured.
    pub(super) fn draw(&self, run: &Run) -> Result<Option<String>, Failure> {
        let panels: Vec<_> = self
            .panels
            .iter()
            .map(|panel| (panel, panel.bars(run)))
            .filter(|(_, bars)| !bars.is_empty())
            .collect();
        if panels.is_empty() {
            return Ok(None);
        }
        let tall = |bars: &[Bar]| HEAD + BAR * bars.len() as i32;
        let height: i32 = panels.iter().map(|(_, bars)| tall(bars)).sum::<i32>() + 12;
        let mut svg = String::new();
        {
            let size = (WIDTH.unsigned_abs(), height.unsigned_abs());
            let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            area.fill(&WHITE)?;
            let mut top = 0;
            for (panel, bars) in &panels {
                panel.draw(&area, top, bars)?;
                top += tall(bars);
            }
            area.present()?;
        }
        Ok(Some(svg))
    }
}
