//! The words themselves. Declarations only.

use super::{DefinitionList, PageSections};

const RUN_EXIT: DefinitionList = &[
    (
        "123",
        "the lock was lost while the command ran, or would have been, or before it was started; \
             nothing is held by the handle any more (--lost-exit-code)",
    ),
    ("124", "the lock was busy, or the wait for others was over (--busy-exit-code)"),
    ("125", "tenure itself failed: the store, the system, or its guardian (--failed-exit-code)"),
    ("126", "the command was found but cannot be executed"),
    ("127", "the command was not found"),
    ("128+n", "signal n ended the command, or the wait for the lock"),
    ("2", "wrong usage: options, names, URLs, the configuration file, a handle or its file"),
    ("any other", "the command's own: it ran, and ended by itself"),
];

const LOCK_EXIT: DefinitionList = &[
    ("0", "the lock is held, and its handle was given"),
    ("123", "the lock was lost before it could stay held (--lost-exit-code)"),
    ("124", "the lock was busy, or the wait for others was over (--busy-exit-code)"),
    (
        "125",
        "tenure itself failed: the store, also one that keeps no hold without a process, or nobody \
             could have read the handle (--failed-exit-code)",
    ),
    ("128+n", "signal n ended the wait for the lock"),
    ("2", "wrong usage: options, names, URLs, the configuration file, the file for the handle"),
];

const HANDLE_EXIT: DefinitionList = &[
    ("0", "it was done"),
    ("123", "nothing is held by the handle any more, or it is of another store (--lost-exit-code)"),
    (
        "125",
        "tenure itself failed: the store, or the handle is of another kind of store \
             (--failed-exit-code)",
    ),
    ("2", "wrong usage: options, the configuration file, a handle or its file"),
];

const LOOK_EXIT: DefinitionList = &[
    ("0", "it was done"),
    ("125", "tenure itself failed: the store did not answer, or what it keeps makes no sense"),
    ("2", "wrong usage: options, names, URLs, the configuration file"),
];

const BENCH_EXIT: DefinitionList = &[
    ("0", "it was measured"),
    ("125", "tenure itself failed: the store, or one of the processes that take turns"),
    ("128+n", "signal n ended it; what it held is released"),
    ("2", "wrong usage: options, URLs, the configuration file"),
];

const ALL_EXIT: DefinitionList = &[
    ("0", "what was asked for was done"),
    ("123", "run, elect, lock, renew, unlock: the lock was lost"),
    ("124", "run, elect, lock: the lock is busy"),
    ("125", "tenure itself failed"),
    ("126, 127", "run, elect: the command cannot be executed; it was not found"),
    ("128+n", "signal n ended the command, the wait for the lock, or bench"),
    (
        "1",
        "a promise does not hold, for doctor; the lock is held, for show --exit-code; no, for break",
    ),
    ("2", "wrong usage"),
    ("any other", "run, elect: the command's own"),
];

const STORE: (&str, &str) = ("TENURE_STORE", "the store, where --store names none");
const CONFIG: (&str, &str) =
    ("TENURE_CONFIG", "the configuration file, in place of those below; /dev/null: none");
const SETTINGS: (&str, &str) = (
    "TENURE_TTL, TENURE_WAIT, TENURE_LABEL, …",
    "settings of locks, where no option says otherwise; they go before the configuration file",
);
const HANDLE: (&str, &str) = ("TENURE_HANDLE", "the handle, where --handle names no file");
const NAME: (&str, &str) = (
    "TENURE_NAME",
    "given to the command: the name of the lock; with --all the names, with commas between them",
);
const TOKEN: (&str, &str) = (
    "TENURE_TOKEN",
    "given to the command: the token, greater than that of every earlier holder; what the lock protects \
     is to refuse a smaller one than it has seen",
);
const TOKENS: (&str, &str) = (
    "TENURE_TOKEN_1, TENURE_TOKEN_2, …",
    "given to the command with --all: the token of each name",
);
const STORE_KIND: (&str, &str) =
    ("TENURE_STORE_KIND", "given to the command: which kind of store it is");

const FILES: DefinitionList = &[
    (
        "$XDG_CONFIG_HOME/tenure/config.toml",
        "the configuration file; without the variable it is ~/.config/tenure/config.toml",
    ),
    ("/etc/tenure/config.toml", "the configuration file where the first is not there"),
    (
        "/var/lib/tenure, ~/.local/state/tenure",
        "the embedded store in its default place: the first if this user may write there",
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
                    "on every host of a fleet: whoever comes first does the job, and nobody else in ten minutes",
                ),
                ("tenure run --all from,to -- ./transfer.sh", "hold both locks, or none"),
                (
                    "tenure run prices --shared -- ./read.sh",
                    "with others that share it, and never with one that does not",
                ),
                (
                    "tenure run uploads --permits 3 -- ./upload.sh",
                    "three at a time, wherever they run",
                ),
                (
                    "timeout 10m tenure run nightly --busy-exit-code 75 -- ./report.sh",
                    "124 is the code of timeout, and 75 that of a lock that others had",
                ),
                (
                    "tenure run --attach --handle deploy.handle -- ./build.sh",
                    "one step of several under a lock that stays held between them",
                ),
            ],
        },
        "elect" => PageSections {
            exit: RUN_EXIT,
            environment: &[NAME, TOKEN, STORE_KIND, STORE, CONFIG, SETTINGS],
            files: FILES,
            examples: &[(
                "tenure elect scheduler --label 10.0.0.7:9000 -- ./scheduler",
                "started on every machine: one leads and runs it, and another when that is gone",
            )],
        },
        "lock" => PageSections {
            exit: LOCK_EXIT,
            environment: &[STORE, CONFIG, SETTINGS],
            files: FILES,
            examples: &[
                (
                    "tenure lock deploy:shop --for 30m --wait 10m --handle deploy.handle",
                    "hold it for half an hour, for whoever has the file",
                ),
                (
                    "tenure lock nightly --for 1h",
                    "print the handle, for the variable TENURE_HANDLE",
                ),
            ],
        },
        "renew" => PageSections {
            examples: &[(
                "tenure renew --for 2h --handle deploy.handle",
                "the lock lasts for two hours from now on, at least",
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
                ("tenure ls deploy:", "the names in use that begin so"),
                (
                    "tenure ls --mine",
                    "what this user holds or waits for on this host, by its label",
                ),
                ("tenure ls --host web3 --json", "the same of a host, for a program"),
            ],
            ..LOOKING
        },
        "show" => PageSections {
            exit: &[
                ("0", "it was shown"),
                ("1", "with --exit-code: somebody holds the lock"),
                (
                    "125",
                    "tenure itself failed: the store did not answer, or what it keeps makes no sense",
                ),
                ("2", "wrong usage: options, names, URLs, the configuration file"),
            ],
            examples: &[
                ("tenure show nightly", "who holds it, and who waits"),
                (
                    "tenure show nightly --exit-code -q",
                    "for a script that only asks whether it is held",
                ),
            ],
            ..LOOKING
        },
        "break" => PageSections {
            exit: &[
                ("0", "the hold is gone, or the lock was free"),
                (
                    "1",
                    "the answer to the question was no, or the hold that you named is gone and others hold the lock",
                ),
                ("125", "tenure itself failed: the store did not answer"),
                ("2", "wrong usage; also a question without a terminal to ask it on: --yes"),
            ],
            examples: &[("tenure break nightly --yes", "take it away without asking")],
            ..LOOKING
        },
        "doctor" => PageSections {
            exit: &[
                ("0", "nothing is bad; a warning says which promise does not hold, and when"),
                ("1", "a promise does not hold, or the store cannot be used"),
                ("125", "tenure itself failed: it could not look"),
                ("2", "wrong usage: options, URLs, the configuration file"),
            ],
            examples: &[(
                "tenure doctor --store redis://locks.internal",
                "what holds there, and what does not",
            )],
            ..LOOKING
        },
        "bench" => PageSections {
            exit: BENCH_EXIT,
            examples: &[
                ("tenure bench", "pairs and hand-offs on the store, in some 40 s"),
                (
                    "tenure bench pair --tasks 1,64 --for 5s --json",
                    "acquire and release alone, by 1 and by 64 tasks, for a program",
                ),
                (
                    "tenure bench handoff --store redis://locks.test",
                    "how long a waiter in another process waits when the holder releases",
                ),
            ],
            ..LOOKING
        },
        "schema" => PageSections {
            examples: &[
                (
                    "tenure schema postgres | psql -v ON_ERROR_STOP=1 shop",
                    "make the tables as their owner",
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
                ("tenure ls", "who holds what"),
            ],
        },
    }
}
