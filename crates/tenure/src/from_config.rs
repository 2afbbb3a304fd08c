//! Opening the store that a configuration names.

use tenure_core::{Fault, store::no_history};

use crate::{Examination, OpenError, Tenure, config::Config, open::open_for};

impl Tenure {
    /// Opens the store that the environment variables and the configuration file name. Locks use the settings given
    /// there: see [`Config::load`].
    ///
    /// Default: the embedded store in its default directory.
    ///
    /// # Errors
    /// [`OpenError::Config`] with the file, the line and the help; any other [`OpenError`] if the store cannot be
    /// opened.
    ///
    /// # Cancel safety
    /// Cancel-safe: opening a store holds nothing.
    ///
    /// ```no_run
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let tenure = tenure::Tenure::from_env().await?;
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub async fn from_env() -> Result<Self, OpenError> {
        Self::from_config(&Config::load()?).await
    }

    /// Opens the store of `config`. Locks use the settings of `config`.
    ///
    /// # Errors
    /// As for [`Tenure::from_env`].
    ///
    /// # Cancel safety
    /// Cancel-safe.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use tenure::{Tenure, config::Config};
    ///
    /// let mut config = Config::parse(None, |_| None)?;
    /// config.use_store("memory:", "--store");
    /// let tenure = Tenure::from_config(&config).await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn from_config(config: &Config) -> Result<Self, OpenError> {
        // Not as a whole `Tenure`, whose metrics would have no families.
        let store = open_for(config.store()?, &config.hold_bounds())
            .await
            .map_err(|error| with_config_origin(config, error))?;
        let families = config.metric_families().clone();
        let history = config.history_families().clone();
        if !history.is_empty() && !store.capabilities().history {
            let why = store.capabilities().reasons.history;
            let fault = why.map_or_else(no_history, Fault::from);
            let help =
                "or take [history] out of the configuration, and --history out of the command";
            let help = format!("{}; {help}", fault.help());
            let fault = Fault::new(fault.kind(), fault.message(), help);
            let url = store.location();
            return Err(OpenError::Store { url, fault });
        }
        let config = config.clone();
        let mut builder = Self::builder(store).metric_families(families).history_families(history);
        if let Some(service) = config.service() {
            builder = builder.service(service);
        }
        if let Some(user) = config.user() {
            builder = builder.user(user);
        }
        Ok(builder.defaults(move |name| config.defaults_of(name)).build())
    }

    /// Examines the store of `config`, as [`Tenure::examine`] does.
    ///
    /// # Errors
    /// As for [`Tenure::examine`], and [`OpenError::Config`].
    ///
    /// # Cancel safety
    /// As for [`Tenure::examine`].
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use tenure::{Tenure, config::Config};
    ///
    /// let mut config = Config::parse(None, |_| None)?;
    /// config.use_store("memory:", "--store");
    /// assert_eq!(Tenure::examine_config(&config).await?.kind, "memory");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn examine_config(config: &Config) -> Result<Examination, OpenError> {
        let examined = Self::examine_for(config.store()?, &config.hold_bounds()).await;
        let mut examined = examined.map_err(|error| with_config_origin(config, error))?;
        let ttl = config.hold_bounds().ttl.and_then(tenure_core::trial::ttl);
        examined.diagnostics.splice(0..0, config.diagnostics().into_iter().chain(ttl));
        Ok(examined)
    }
}

/// Adds to an error about a malformed URL where the URL comes from.
fn with_config_origin(config: &Config, error: OpenError) -> OpenError {
    match error {
        OpenError::UnknownScheme { scheme, known } => config
            .unknown_store(&scheme, &known)
            .map_or(OpenError::UnknownScheme { scheme, known }, OpenError::Config),
        OpenError::Url { url, fault } => {
            config.misspelt_store(&fault).map_or(OpenError::Url { url, fault }, OpenError::Config)
        }
        other => other,
    }
}
