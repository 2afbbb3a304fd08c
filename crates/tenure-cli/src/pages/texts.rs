//! The words themselves. Declarations only.

use super::{DefinitionList, PageSections};

const RUN_EXIT: DefinitionList = &[
    ("122", "once per slot: there was nothing to do in this slot (--skipped-exit-code)"),
    (
        "123",
        "the lock was lost before or while the command ran, or tenure ended the command because it \
             was about to be lost; or the handle holds nothing any more (--lost-exit-code)",
    ),
    ("124", "the lock was busy, or the wait for it was over (--busy-exit-code)"),
    ("125", "tenure itself failed: the store, the system or the guardian (--failed-exit-code)"),
    ("126", "the command cannot be executed"),
    ("127", "the command was not found"),
    ("128+n", "signal n ended the command or the wait for the lock"),
    ("2", "wrong usage: options, names, URLs, the configuration file, a handle or its file"),
    ("any other", "the exit code of the command"),
];

const HOLD_EXIT: DefinitionList = &[
    ("0", "the lock was released, or given up by release before it was acquired"),
    ("123", "the lock was lost (--lost-exit-code)"),
    ("124", "the lock was busy, or the wait for it was over (--busy-exit-code)"),
    (
        "125",
        "tenure itself failed, the input ended before the lock was acquired, or the store did not \
             confirm the release (--failed-exit-code)",
    ),
    ("128+n", "signal n ended the wait for the lock, or a hold with a terminal as input"),
    ("2", "wrong usage: options, names, URLs, the configuration file, --parent"),
];

const LOCK_EXIT: DefinitionList = &[
    ("0", "the lock is held, and its handle was printed or written"),
    ("123", "the lock was lost before it was detached (--lost-exit-code)"),
    ("124", "the lock was busy, or the wait for it was over (--busy-exit-code)"),
    (
        "125",
        "tenure itself failed: the store, which may not support detached locks, or the handle could \
             not have been read (--failed-exit-code)",
    ),
    ("128+n", "signal n ended the wait for the lock"),
    ("2", "wrong usage: options, names, URLs, the configuration file, the file for the handle"),
];

const HANDLE_EXIT: DefinitionList = &[
    ("0", "success"),
    ("123", "the handle holds nothing any more, or belongs to another store (--lost-exit-code)"),
    (
        "125",
        "tenure itself failed: the store, or the handle belongs to another kind of store \
             (--failed-exit-code)",
    ),
    ("2", "wrong usage: options, the configuration file, a handle or its file"),
];

const LOOK_EXIT: DefinitionList = &[
    ("0", "success"),
    ("125", "tenure itself failed: the store did not answer, or its data is damaged"),
    ("2", "wrong usage: options, names, URLs, the configuration file"),
];

const BENCH_EXIT: DefinitionList = &[
    ("0", "success"),
    ("125", "tenure itself failed: the store, or one of the two processes that hand off"),
    ("128+n", "signal n ended it; its locks are released"),
    ("2", "wrong usage: options, URLs, the configuration file"),
];

const EXPORT_EXIT: DefinitionList = &[
    ("0", "the metrics were printed or written"),
    (
        "125",
        "tenure itself failed: the address is taken, the file cannot be written, or with --once and \
             --file the store did not answer",
    ),
    ("128+n", "signal n ended it"),
    ("2", "wrong usage: options, patterns, URLs, the configuration file"),
];

const ALL_EXIT: DefinitionList = &[
    ("0", "success"),
    ("123", "run, elect, hold, lock, renew, unlock: the lock was lost"),
    ("122", "run: there was nothing to do in this slot"),
    ("124", "run, elect, hold, lock: the lock is busy"),
    ("125", "tenure itself failed"),
    ("126, 127", "run, elect: the command cannot be executed; the command was not found"),
    ("128+n", "signal n ended the command, the wait for the lock, bench or export"),
    (
        "1",
        "doctor: a promise does not hold; show --exit-code: the lock is held; break: you answered no",
    ),
    ("2", "wrong usage"),
    ("any other", "run, elect: the exit code of the command"),
];

const STORE: (&str, &str) = ("TENURE_STORE", "the store, unless --store names one");
const CONFIG: (&str, &str) =
    ("TENURE_CONFIG", "the configuration file, instead of those below; /dev/null for none");
const SETTINGS: (&str, &str) = (
    "TENURE_TTL, TENURE_WAIT, TENURE_LABEL, …",
    "settings of locks, unless an option sets them; they take precedence over the configuration file",
);
const HANDLE: (&str, &str) = ("TENURE_HANDLE", "the handle, unless --handle names a file");
const NAME: (&str, &str) = (
    "TENURE_NAME",
    "set for the command: the name of the lock; with --all the names, separated by commas",
);
const TOKEN: (&str, &str) = (
    "TENURE_TOKEN",
    "set for the command: the fencing token, greater than that of every earlier holder. Let the \
     protected resource refuse a smaller one than it has seen",
);
const TOKENS: (&str, &str) =
    ("TENURE_TOKEN_1, TENURE_TOKEN_2, …", "set for the command with --all: the token of each name");
const STORE_KIND: (&str, &str) = ("TENURE_STORE_KIND", "set for the command: the kind of store");

const FILES: DefinitionList = &[
    (
        "$XDG_CONFIG_HOME/tenure/config.toml",
        "the configuration file; if the variable is not set, ~/.config/tenure/config.toml",
    ),
    ("/etc/tenure/config.toml", "the configuration file, if the first does not exist"),
    (
        "/var/lib/tenure, ~/.local/state/tenure",
        "the default directory of the embedded store: the first, if this user may write there",
    ),
];

const LOOKING: PageSections =
    PageSections { exit: LOOK_EXIT, environment: &[STORE, CONFIG], files: FILES, examples: &[] };

const BY_HANDLE: PageSections = PageSections {
    exit: HANDLE_EXIT,
    environment: &[HANDLE, STORE, CONFIG],
    files: FILES,
    examples: &[],
};

/// The page of a subcommand; the one of the whole program for any other word.
pub(super) fn of(command: &str) -> PageSections {
    match command {
        "run" => PageSections {
            exit: RUN_EXIT,
            environment: &[NAME, TOKEN, TOKENS, STORE_KIND, STORE, CONFIG, SETTINGS, HANDLE],
            files: FILES,
            examples: &[
                (
                    "tenure run nightly -- ./report.sh",
                    "run a script under the lock nightly, and wait for it",
                ),
                (
                    "tenure run --no-wait --hold-at-least 10m nightly -- ./report.sh",
                    "on several hosts: the first one runs the job, and no other within ten minutes",
                ),
                ("tenure run --all from,to -- ./transfer.sh", "hold both locks, or none"),
                (
                    "tenure run prices --shared -- ./read.sh",
                    "read while others read, and never while one writes",
                ),
                (
                    "tenure run uploads --permits 3 -- ./upload.sh",
                    "at most three at a time, on any host",
                ),
                (
                    "timeout 10m tenure run nightly --busy-exit-code 75 -- ./report.sh",
                    "timeout exits with 124, and tenure with 75 if the lock is busy",
                ),
                (
                    "tenure run --attach --handle deploy.handle -- ./build.sh",
                    "one of several steps under a lock that stays held between them",
                ),
            ],
        },
        "elect" => PageSections {
            exit: RUN_EXIT,
            environment: &[NAME, TOKEN, STORE_KIND, STORE, CONFIG, SETTINGS],
            files: FILES,
            examples: &[(
                "tenure elect scheduler --label 10.0.0.7:9000 -- ./scheduler",
                "on several hosts: one leads and runs it; when it is gone, another one does",
            )],
        },
        "hold" => PageSections {
            exit: HOLD_EXIT,
            environment: &[STORE, CONFIG, SETTINGS],
            files: FILES,
            examples: &[
                (
                    "tenure hold import --json",
                    "for a program: it reads what happens, a line for each event, and writes check and \
                     release",
                ),
                ("tenure hold deploy --reason migration", "by hand, until you type Ctrl-D"),
                ("tenure hold --multiplex --json", "any number of locks for a server"),
            ],
        },
        "lock" => PageSections {
            exit: LOCK_EXIT,
            environment: &[STORE, CONFIG, SETTINGS],
            files: FILES,
            examples: &[
                (
                    "tenure lock deploy:shop --for 30m --wait 10m --handle deploy.handle",
                    "hold it for half an hour, for any process that has the file",
                ),
                ("tenure lock nightly --for 1h", "print the handle, to be set as TENURE_HANDLE"),
            ],
        },
        "renew" => PageSections {
            examples: &[(
                "tenure renew --for 2h --handle deploy.handle",
                "the lock lasts for at least two hours from now",
            )],
            ..BY_HANDLE
        },
        "unlock" => PageSections {
            examples: &[(
                "tenure unlock --handle deploy.handle",
                "release it, and remove the file",
            )],
            ..BY_HANDLE
        },
        "ls" => PageSections {
            examples: &[
                ("tenure ls deploy:", "the names in use that begin with deploy:"),
                ("tenure ls --mine", "what this user holds or waits for on this host"),
                (
                    "tenure ls --host web3 --json",
                    "what host web3 holds or waits for, for a program",
                ),
            ],
            ..LOOKING
        },
        "show" => PageSections {
            exit: &[
                ("0", "success"),
                ("1", "with --exit-code: the lock is held"),
                ("125", "tenure itself failed: the store did not answer, or its data is damaged"),
                ("2", "wrong usage: options, names, URLs, the configuration file"),
            ],
            examples: &[
                ("tenure show nightly", "the holder and the waiters"),
                (
                    "tenure show nightly --exit-code -q",
                    "for a script that only asks whether the lock is held",
                ),
            ],
            ..LOOKING
        },
        "break" => PageSections {
            exit: &[
                ("0", "the hold is gone, or the lock was free"),
                (
                    "1",
                    "you answered no, or the hold that you named is gone and another holder has the lock",
                ),
                ("125", "tenure itself failed: the store did not answer"),
                ("2", "wrong usage; or there is no terminal to ask on: use --yes"),
            ],
            examples: &[
                ("tenure break nightly --yes", "take the lock away without asking"),
                ("tenure break nightly --reason OPS-7", "and tell the holder who did it and why"),
            ],
            ..LOOKING
        },
        "history" => PageSections {
            exit: &[
                ("0", "success, also if the lock has no history"),
                ("125", "tenure itself failed: the store keeps no history, or did not answer"),
                ("2", "wrong usage: options, names, URLs, the configuration file"),
            ],
            examples: &[
                ("tenure history nightly", "who held the lock, when, and how each hold ended"),
                (
                    "tenure history nightly --limit 1 --json",
                    "for a script: the last hold, with the exit code of its command",
                ),
            ],
            ..LOOKING
        },
        "ask-release" => PageSections {
            exit: &[
                ("0", "the lock was released, or was free"),
                ("124", "it is still held"),
                ("125", "tenure itself failed: the store did not answer"),
                ("2", "wrong usage: options, names, URLs, the configuration file"),
            ],
            examples: &[(
                "tenure ask-release index --reason deploy --wait 10m",
                "ask the holder to release the lock, and wait until it does",
            )],
            ..LOOKING
        },
        "export" => PageSections {
            exit: EXPORT_EXIT,
            examples: &[
                (
                    "tenure export --names 'job:*' --names nightly",
                    "serve the metrics of these locks at http://127.0.0.1:9464/metrics",
                ),
                ("tenure export --names '*' --once", "print the metrics of the first 100 names"),
                (
                    "tenure export --names 'job:*' --file /var/lib/node_exporter/locks.prom",
                    "for node_exporter's textfile collector, from a timer",
                ),
            ],
            ..LOOKING
        },
        "doctor" => PageSections {
            exit: &[
                ("0", "nothing is bad; a warning says which promise may not hold, and when"),
                ("1", "a promise does not hold, or the store cannot be used"),
                ("125", "tenure itself failed: it could not check"),
                ("2", "wrong usage: options, URLs, the configuration file"),
            ],
            examples: &[(
                "tenure doctor --store redis://locks.internal",
                "check this server, its settings and your rights",
            )],
            ..LOOKING
        },
        "bench" => PageSections {
            exit: BENCH_EXIT,
            examples: &[
                ("tenure bench", "measure pairs and hand-offs, in about 40 s"),
                (
                    "tenure bench pair --tasks 1,64 --for 5s --json",
                    "measure acquire and release only, with 1 and 64 tasks, for a program",
                ),
                (
                    "tenure bench handoff --store redis://locks.test",
                    "measure how long a waiter in another process waits after a release",
                ),
            ],
            ..LOOKING
        },
        "schema" => PageSections {
            examples: &[
                (
                    "tenure schema postgres | psql -v ON_ERROR_STOP=1 shop",
                    "create the tables as their owner",
                ),
                ("tenure schema postgres --schema locks", "the same in another schema"),
                ("tenure schema mysql | mariadb shop", "the same on MariaDB"),
            ],
            ..PageSections::default()
        },
        "completions" => PageSections {
            examples: &[
                ("tenure completions bash > /etc/bash_completion.d/tenure", "for bash"),
                (
                    "tenure completions zsh > ~/.zfunc/_tenure",
                    "for zsh, with ~/.zfunc in fpath before compinit",
                ),
                ("tenure completions fish > ~/.config/fish/completions/tenure.fish", "for fish"),
            ],
            ..PageSections::default()
        },
        "man" => PageSections {
            examples: &[
                ("tenure man | man -l -", "read all of it on one page"),
                ("tenure man --dir /usr/local/share/man/man1", "install one page for each command"),
            ],
            ..PageSections::default()
        },
        _ => PageSections {
            exit: ALL_EXIT,
            environment: &[STORE, CONFIG, SETTINGS, HANDLE],
            files: FILES,
            examples: &[
                ("tenure run nightly -- ./report.sh", "run a script under a lock"),
                ("tenure ls", "list the locks in use"),
            ],
        },
    }
}
