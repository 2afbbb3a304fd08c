//! The families of locks that metrics and histories tell apart.

use tenure_core::{history::HistoryFamilies, observe::MetricFamilies};

use super::Config;

impl Config {
    /// Returns the families of locks that have series of their own in the metrics.
    ///
    /// ```
    /// use std::path::Path;
    /// use tenure::config::Config;
    ///
    /// let text = "[metrics]\nfamilies = ['order:*', 'nightly']\n";
    /// let config = Config::parse(Some((Path::new("tenure.toml"), text)), |_| None)?;
    /// assert_eq!(config.metric_families().family("order:7"), "order:*");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn metric_families(&self) -> &MetricFamilies {
        &self.families
    }

    /// Returns the families of locks of which a history is kept.
    ///
    /// ```
    /// use std::path::Path;
    /// use tenure::config::Config;
    ///
    /// let text = "history = { 'nightly' = 100, 'order:*' = '7d' }";
    /// let config = Config::parse(Some((Path::new("tenure.toml"), text)), |_variable| None)?;
    /// let kept = config.history_families().retention("nightly");
    /// assert_eq!(kept.map(|kept| kept.most()), Some(100));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn history_families(&self) -> &HistoryFamilies {
        &self.history
    }

    /// Sets which families of locks have a history, in place of those in the file.
    ///
    /// ```
    /// use tenure::{config::Config, history::{HistoryFamilies, Retention}};
    ///
    /// let mut config = Config::parse(None, |_| None)?;
    /// config.use_history(HistoryFamilies::new([("nightly", Retention::entries(100)?)])?);
    /// assert!(config.history_families().retention("nightly").is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn use_history(&mut self, families: HistoryFamilies) {
        self.history = families;
    }
}
