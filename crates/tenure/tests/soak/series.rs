//! A measure over time, and whether it grows.

/// What a measure may be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    /// At most so much, and in the second half of a long run it grows by no more than the greater of a number and a
    /// part of itself.
    Flat { most: f64, by: f64, part: f64 },
    /// It is told, and no more.
    Told,
}

#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) bound: Bound,
    /// Seconds since the beginning, and the value then.
    points: Vec<(f64, f64)>,
}

impl Series {
    pub(crate) fn new(name: impl Into<String>, bound: Bound) -> Self {
        Self { name: name.into(), bound, points: Vec::new() }
    }

    pub(crate) fn add(&mut self, at: f64, value: Option<f64>) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.points.push((at, value));
        }
    }

    pub(crate) fn first(&self) -> Option<f64> {
        self.points.first().map(|(_, value)| *value)
    }

    pub(crate) fn last(&self) -> Option<f64> {
        self.points.last().map(|(_, value)| *value)
    }

    pub(crate) fn most(&self) -> Option<f64> {
        self.points.iter().map(|(_, value)| *value).reduce(f64::max)
    }

    /// The second half: what comes before is for warming up.
    fn late(&self) -> &[(f64, f64)] {
        let (Some(first), Some(last)) = (self.points.first(), self.points.last()) else {
            return &[];
        };
        let half = f64::midpoint(first.0, last.0);
        let begins = self.points.partition_point(|(at, _)| *at < half);
        &self.points[begins..]
    }

    /// By how much it rises in an hour, by least squares over the second half.
    pub(crate) fn slope(&self) -> Option<f64> {
        let late = self.late();
        let count = late.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| late.iter().map(of).sum::<f64>() / count;
        let (at, value) = (mean(|point| point.0), mean(|point| point.1));
        let spread: f64 = late.iter().map(|point| (point.0 - at).powi(2)).sum();
        let common: f64 = late.iter().map(|point| (point.0 - at) * (point.1 - value)).sum();
        (spread > 0.0).then(|| common / spread * 3_600.0)
    }

    /// By how much it grew in the second half, by that slope.
    fn growth(&self) -> Option<f64> {
        let (first, last) = (self.late().first()?, self.late().last()?);
        Some(self.slope()? / 3_600.0 * (last.0 - first.0))
    }

    /// What is wrong with it. The slope of a short run says nothing.
    pub(crate) fn wrong(&self, is_long: bool) -> Option<String> {
        let Bound::Flat { most, by, part } = self.bound else { return None };
        let reached = self.most()?;
        if reached > most {
            return Some(format!("{}: {reached:.1}, and {most:.1} is the most", self.name));
        }
        let may = by.max(part * reached);
        let grew = self.growth().filter(|_| is_long)?;
        (grew > may).then(|| {
            let name = &self.name;
            format!("{name}: grew by {grew:.2} in the second half, and {may:.2} is the most")
        })
    }
}

/// That growth is seen, and noise is not.
pub(crate) fn sees_growth() {
    let bound = Bound::Flat { most: 100.0, by: 2.0, part: 0.0 };
    let series = |value: fn(u32) -> f64| {
        let mut series = Series::new("it", bound);
        (0..100).for_each(|at| series.add(f64::from(at), Some(value(at))));
        series
    };
    let warms_up = series(|at| f64::from(at.min(40)) + f64::from(at % 2));
    assert_eq!(warms_up.wrong(true), None);
    assert!(warms_up.slope().unwrap().abs() < 10.0);
    let grows = series(|at| f64::from(at) / 10.0);
    assert!((grows.slope().unwrap() - 360.0).abs() < 1e-6);
    assert!(grows.wrong(true).is_some_and(|wrong| wrong.contains("grew by 4.90")));
    assert_eq!(grows.wrong(false), None);
    let steep = series(|at| f64::from(at) * 2.0);
    assert!(steep.wrong(false).is_some_and(|wrong| wrong.contains("100.0 is the most")));
}
