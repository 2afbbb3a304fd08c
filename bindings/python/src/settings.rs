//! The settings of an acquisition, as Python gives them.

use std::time::Duration;

use pyo3::{prelude::*, types::PyBool};

use crate::failure::Failure;

/// A length of time: seconds, or a `timedelta`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length(pub(crate) Duration);

impl<'py> FromPyObject<'_, 'py> for Length {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let py = given.py();
        let seconds = match given.extract::<f64>() {
            Ok(seconds) if !given.is_instance_of::<PyBool>() => seconds,
            _ => match given.call_method0("total_seconds") {
                Ok(seconds) => seconds.extract::<f64>()?,
                Err(_) => {
                    let what = format!("{} is not a length of time", given.repr()?);
                    return Err(Failure::usage(what).helped(LENGTH).into_pyerr(py));
                }
            },
        };
        Duration::try_from_secs_f64(seconds).map(Self).map_err(|_| {
            let what = format!("{seconds} is not a length of time");
            Failure::usage(what).helped(LENGTH).into_pyerr(py)
        })
    }
}

const LENGTH: &str = "a number of seconds or a timedelta of 0 or more";

/// Refuses settings that no lock could have, where a lock is made.
#[pyfunction]
pub(crate) fn _check_settings(settings: &Bound<'_, PyAny>) -> PyResult<()> {
    settings.extract::<Settings>().map(drop)
}

/// What an acquisition sets itself; the rest comes from the configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) wait: Option<Duration>,
    pub(crate) ttl: Option<Duration>,
    pub(crate) max_hold: Option<Duration>,
    pub(crate) hold_at_least: Option<Duration>,
    pub(crate) grace: Option<Duration>,
    pub(crate) label: Option<String>,
    pub(crate) operation: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) fair: bool,
}

impl<'py> FromPyObject<'_, 'py> for Settings {
    type Error = PyErr;

    /// Reads a dictionary of keyword arguments.
    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let mut settings = Self::default();
        for entry in given.call_method0("items")?.try_iter()? {
            let (name, value): (String, Bound<'py, PyAny>) = entry?.extract()?;
            let wrong = |wanted: &str| {
                let shown = value.repr().map(|shown| shown.to_string()).unwrap_or_default();
                Failure::usage(format!("{name} is {wanted}, but {shown} was given"))
                    .into_pyerr(value.py())
            };
            let length = || {
                let given = value.extract::<Option<Length>>();
                given.map(|given| given.map(|it| it.0)).map_err(|_| wrong(LENGTH))
            };
            let text = || value.extract::<Option<String>>().map_err(|_| wrong("text"));
            match &*name {
                "wait" => settings.wait = length()?,
                "ttl" => settings.ttl = length()?,
                "max_hold" => settings.max_hold = length()?,
                "hold_at_least" => settings.hold_at_least = length()?,
                "grace" => settings.grace = length()?,
                "label" => settings.label = text()?,
                "operation" => settings.operation = text()?,
                "reason" => settings.reason = text()?,
                "fair" => settings.fair = value.extract().map_err(|_| wrong("True or False"))?,
                _ => {
                    let what = format!("{name:?} is not a setting of a lock");
                    let help = "ttl, max_hold, hold_at_least, grace, label, operation, reason and fair are";
                    return Err(Failure::usage(what).helped(help).into_pyerr(value.py()));
                }
            }
        }
        Ok(settings)
    }
}

/// Sets on a handle, or on an acquisition, what is given.
macro_rules! with_settings {
    ($lock:expr, $settings:expr) => {{
        let mut lock = $lock;
        let settings: &$crate::settings::Settings = $settings;
        if let Some(ttl) = settings.ttl {
            lock = lock.ttl(ttl);
        }
        if let Some(max_hold) = settings.max_hold {
            lock = lock.max_hold(max_hold);
        }
        if let Some(hold_at_least) = settings.hold_at_least {
            lock = lock.hold_at_least(hold_at_least);
        }
        if let Some(grace) = settings.grace {
            lock = lock.grace(grace);
        }
        if let Some(label) = &settings.label {
            lock = lock.label(label);
        }
        if let Some(operation) = &settings.operation {
            lock = lock.operation(operation);
        }
        if let Some(reason) = &settings.reason {
            lock = lock.reason(reason);
        }
        if settings.fair {
            lock = lock.fair();
        }
        lock
    }};
}

pub(crate) use with_settings;
