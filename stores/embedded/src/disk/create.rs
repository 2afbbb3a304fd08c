//! Making files that are complete from the first moment others can see them.

use std::{
    fs::File,
    io::{self, ErrorKind},
};

use crate::{
    disk::{
        access::FilePermissions,
        dir::{Dir, temporary_name},
        slots::{PAGE, SlotFile, SlotFileKind, SlotRecord, WriteError},
    },
    machine::{Machine, check_size},
};

/// Creates a file of slots with its first record; `None` when somebody else was faster.
pub(crate) fn create_slot_file(
    machine: &dyn Machine,
    (dir, name): (&Dir, &str),
    access: FilePermissions,
    kind: SlotFileKind,
    first: &SlotRecord<'_>,
) -> io::Result<Option<File>> {
    let (unfinished, file) = write_slot_file(machine, (dir, name), access, kind, first)?;
    Ok(unfinished.place(name)?.then_some(file))
}

/// Writes a file of slots that is going to be `name`, and goes away unless it gets that name.
pub(crate) fn write_slot_file<'d>(
    machine: &dyn Machine,
    (dir, name): (&'d Dir, &str),
    access: FilePermissions,
    kind: SlotFileKind,
    first: &SlotRecord<'_>,
) -> io::Result<(TemporaryFile<'d>, File)> {
    let unfinished = TemporaryFile { dir, name: temporary_name(name)? };
    let file = dir.create_file(&unfinished.name, access)?;
    check_size(PAGE as u64)?;
    file.set_len(PAGE as u64)?;
    let slots = SlotFile { machine, file: &file, kind };
    slots.write(first).map_err(|error| match error {
        WriteError::NoEffect(error) | WriteError::Unknown(error) => error,
        WriteError::TooLarge(_) => ErrorKind::FileTooLarge.into(),
    })?;
    if matches!(kind, SlotFileKind::Clock | SlotFileKind::Record) {
        // It is looked at after a loss of power, so it must not have a name without a content.
        machine.sync(&file)?;
    }
    Ok((unfinished, file))
}

/// Writes a file that is going to be `name`, and goes away unless it gets that name. It is not synced.
pub(crate) fn write_file<'d>(
    machine: &dyn Machine,
    (dir, name): (&'d Dir, &str),
    access: FilePermissions,
    bytes: &[u8],
) -> io::Result<TemporaryFile<'d>> {
    let unfinished = TemporaryFile { dir, name: temporary_name(name)? };
    let file = dir.create_file(&unfinished.name, access)?;
    machine.write_at(&file, bytes, 0)?;
    Ok(unfinished)
}

/// A file that goes away again, under this name.
#[derive(Debug)]
pub(crate) struct TemporaryFile<'a> {
    dir: &'a Dir,
    name: String,
}

impl TemporaryFile<'_> {
    /// Gives the file its name, whatever had that name before.
    pub(crate) fn replace(&self, name: &str) -> io::Result<()> {
        self.dir.rename(&self.name, name)
    }

    /// Gives the file this name as well, unless that name is taken. Returns whether it has it.
    pub(crate) fn place(&self, name: &str) -> io::Result<bool> {
        match self.dir.link(&self.name, name) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Drop for TemporaryFile<'_> {
    fn drop(&mut self) {
        let _ = self.dir.remove(&self.name);
    }
}
