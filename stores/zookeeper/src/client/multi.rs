//! Several reads or writes by one call.

use std::{fmt, future::Future};

use super::{
    Client, CreateMode, CreateOptions, Error, Result,
    wire::{Reader, Stat, Writer, op},
};

/// What one of the reads found.
#[derive(Debug)]
pub(crate) enum MultiReadResult {
    Data {
        data: Vec<u8>,
        stat: Stat,
    },
    Children {
        children: Vec<String>,
    },
    /// It found nothing, or may not look.
    Failed(Error),
}

/// What one of the writes did.
#[derive(Debug)]
pub(crate) enum MultiWriteResult {
    Create { path: String },
    Other,
}

/// Why none of the writes was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MultiWriteError {
    RequestFailed {
        source: Error,
    },
    /// One of them could not be.
    OperationFailed {
        index: usize,
        source: Error,
    },
}

impl From<Error> for MultiWriteError {
    fn from(source: Error) -> Self {
        Self::RequestFailed { source }
    }
}

impl From<MultiWriteError> for Error {
    fn from(error: MultiWriteError) -> Self {
        match error {
            MultiWriteError::RequestFailed { source }
            | MultiWriteError::OperationFailed { source, .. } => source,
        }
    }
}

impl fmt::Display for MultiWriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Error::from(self.clone()).fmt(f)
    }
}

/// A request as it grows.
#[derive(Default)]
struct MultiRequest {
    body: Writer,
    count: usize,
}

impl MultiRequest {
    fn begin(&mut self, op: i32) -> &mut Writer {
        self.count += 1;
        self.header(op, false)
    }

    fn header(&mut self, op: i32, is_end: bool) -> &mut Writer {
        self.body.int(op);
        self.body.flag(is_end);
        self.body.int(-1);
        &mut self.body
    }

    fn end(&mut self) -> (Writer, usize) {
        self.header(-1, true);
        let Self { body, count } = std::mem::take(self);
        (body, count)
    }
}

const OTHERWISE: Error = Error::Odd("it answers to several calls otherwise than it was asked");

/// What an answer has of each call.
fn each<T>(
    body: &[u8],
    count: usize,
    mut read: impl FnMut(i32, &mut Reader<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut reader = Reader(body);
    let mut all = Vec::new();
    loop {
        let (op, is_end, _) = (reader.int()?, reader.flag()?, reader.int()?);
        if is_end {
            return if all.len() == count { Ok(all) } else { Err(OTHERWISE) };
        }
        if all.len() == count {
            return Err(OTHERWISE);
        }
        all.push(read(op, &mut reader)?);
    }
}

/// Reads of one moment.
pub(crate) struct MultiReader<'a> {
    client: &'a Client,
    request: MultiRequest,
}

impl<'a> MultiReader<'a> {
    pub(super) fn new(client: &'a Client) -> Self {
        Self { client, request: MultiRequest::default() }
    }

    #[allow(clippy::unnecessary_wraps, reason = "as a writer's")]
    pub(crate) fn add_get_data(&mut self, path: &str) -> Result<()> {
        let body = self.request.begin(op::GET_DATA);
        body.text(path);
        body.flag(false);
        Ok(())
    }

    #[allow(clippy::unnecessary_wraps, reason = "as a writer's")]
    pub(crate) fn add_get_children(&mut self, path: &str) -> Result<()> {
        let body = self.request.begin(op::GET_CHILDREN);
        body.text(path);
        body.flag(false);
        Ok(())
    }

    pub(crate) fn commit(
        &mut self,
    ) -> impl Future<Output = Result<Vec<MultiReadResult>>> + Send + use<> {
        let (body, count) = self.request.end();
        let sent = (count > 0).then(|| self.client.send(op::MULTI_READ, body, None));
        async move {
            let Some(sent) = sent else { return Ok(Vec::new()) };
            let (body, _) = sent.await?;
            each(&body, count, |op, reader| {
                Ok(match op {
                    op::GET_DATA => {
                        let data = reader.bytes()?.to_vec();
                        MultiReadResult::Data { data, stat: Stat::read(reader)? }
                    }
                    op::GET_CHILDREN => MultiReadResult::Children { children: reader.texts()? },
                    op::ERROR => MultiReadResult::Failed(Error::of(reader.int()?)),
                    _ => return Err(OTHERWISE),
                })
            })
        }
    }
}

/// Writes of which all are done or none.
pub(crate) struct MultiWriter<'a> {
    client: &'a Client,
    request: MultiRequest,
}

impl<'a> MultiWriter<'a> {
    pub(super) fn new(client: &'a Client) -> Self {
        Self { client, request: MultiRequest::default() }
    }

    pub(crate) fn add_create(
        &mut self,
        path: &str,
        data: &[u8],
        options: &CreateOptions<'_>,
    ) -> Result<()> {
        // It has a number of its own, and is not asked for.
        if options.mode == CreateMode::Container {
            return Err(Error::Unimplemented);
        }
        let body = self.request.begin(options.op());
        options.write(path, data, body);
        Ok(())
    }

    #[allow(clippy::unnecessary_wraps, reason = "as its neighbours")]
    pub(crate) fn add_delete(&mut self, path: &str, version: Option<i32>) -> Result<()> {
        let body = self.request.begin(op::DELETE);
        body.text(path);
        body.int(version.unwrap_or(-1));
        Ok(())
    }

    #[allow(clippy::unnecessary_wraps, reason = "as its neighbours")]
    pub(crate) fn add_set_data(&mut self, path: &str, data: &[u8], version: i32) -> Result<()> {
        let body = self.request.begin(op::SET_DATA);
        body.text(path);
        body.bytes(data);
        body.int(version);
        Ok(())
    }

    #[allow(clippy::unnecessary_wraps, reason = "as its neighbours")]
    pub(crate) fn add_check_version(&mut self, path: &str, version: i32) -> Result<()> {
        let body = self.request.begin(op::CHECK);
        body.text(path);
        body.int(version);
        Ok(())
    }

    pub(crate) fn commit(
        &mut self,
    ) -> impl Future<Output = Result<Vec<MultiWriteResult>, MultiWriteError>> + Send + use<> {
        let (body, count) = self.request.end();
        let sent = (count > 0).then(|| self.client.send(op::MULTI, body, None));
        async move {
            let Some(sent) = sent else { return Ok(Vec::new()) };
            let (body, _) = sent.await?;
            let each = each(&body, count, |op, reader| {
                Ok(match op {
                    // The first of a node that the server did not look at behind its creation.
                    op::CREATE | op::CREATE2 => {
                        let path = reader.text()?.to_owned();
                        if op == op::CREATE2 {
                            Stat::read(reader)?;
                        }
                        Ok(MultiWriteResult::Create { path })
                    }
                    op::SET_DATA => {
                        Stat::read(reader)?;
                        Ok(MultiWriteResult::Other)
                    }
                    op::DELETE | op::CHECK => Ok(MultiWriteResult::Other),
                    op::ERROR => Err(reader.int()?),
                    _ => return Err(OTHERWISE),
                })
            })?;
            check_results(each)
        }
    }
}

/// Where one failed, those before it have no error and are not done, and those behind it were not tried.
fn check_results(
    each: Vec<Result<MultiWriteResult, i32>>,
) -> Result<Vec<MultiWriteResult>, MultiWriteError> {
    let failed = each.iter().enumerate().find_map(|(index, one)| match one {
        Err(code) if *code != 0 => Some((index, *code)),
        _ => None,
    });
    if let Some((index, code)) = failed {
        return Err(MultiWriteError::OperationFailed { index, source: Error::of(code) });
    }
    each.into_iter().collect::<Result<_, _>>().map_err(|_| OTHERWISE.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_failed_is_named_and_an_answer_that_contradicts_itself_is_none() {
        let other = || Ok(MultiWriteResult::Other);
        assert!(check_results(vec![other(), other()]).is_ok());
        let failed = check_results(vec![Err(0), Err(-101), Err(-2)]);
        let expected = MultiWriteError::OperationFailed { index: 1, source: Error::NoNode };
        assert_eq!(failed.err(), Some(expected));
        assert!(check_results(vec![other(), Err(0)]).is_err());
        let end = [0xff, 0xff, 0xff, 0xff, 1, 0xff, 0xff, 0xff, 0xff];
        let delete = [0, 0, 0, 2, 0, 0, 0, 0, 0];
        let read = |body: &[u8], count| each(body, count, |op, _| Ok(op));
        assert_eq!(read(&[&delete[..], &end].concat(), 1), Ok(vec![2]));
        assert!(read(&[&delete[..], &delete, &end].concat(), 1).is_err());
        assert!(read(&end, 1).is_err());
        assert!(read(&delete, 1).is_err());
    }
}
