//! Arrow IPC, both the file format and the stream format, read message by message.
//!
//! A file is a stream between two magic words, so both are read as streams. The end mark is required: without it, a
//! truncated file would look complete.

use std::collections::HashMap;
use std::io::{Cursor, Read};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{CompressionType, Message, MessageHeader, root_as_message};
use arrow_schema::{DataType, Schema, SchemaRef};

use super::arrow::{self, Words};
use super::guard::guarded;
use super::values::Values;
use super::{Chunk, ChunkDecoder, ColumnarSource, broken, chunk_rows, fault, pages};
use crate::error::DataError;
use crate::format::{FormatEntry, FormatOpener};
use crate::source::Source;

/// The maximum length in bytes of a message's metadata.
const MOST_METADATA: u32 = 1 << 26;

/// The number of rows that need no bytes: a column of nulls has none.
const FREE_ROWS: u64 = 1 << 16;

pub(crate) const ENTRY: FormatEntry = FormatEntry {
    name: "arrow",
    summary: "Arrow IPC, the file and the stream format",
    endings: &["arrow", "feather", "arrows", "ipc"],
    choices: &[],
    // A stream has no magic word; it begins with the marker of a message.
    magic: &[b"ARROW1", b"\xff\xff\xff\xff"],
    looks: |_| false,
    open: FormatOpener::Bytes(|bytes, context| open(bytes, context.file)),
};

/// Opens an Arrow file or stream; `name` is used in messages.
pub fn open(read: Box<dyn Read + Send>, name: &str) -> Result<Box<dyn Source + Send>, DataError> {
    let batches = batches(read, name)?;
    let listed = batches.schema.fields().iter().map(|field| arrow::listed(field)).collect();
    Ok(Box::new(ColumnarSource::new(name, listed, Box::new(batches))?))
}

/// Opens the record batches of an Arrow file or stream.
pub(crate) fn batches(mut read: Box<dyn Read + Send>, name: &str) -> Result<IpcBatches, DataError> {
    let mut eight = || {
        let mut bytes = Vec::new();
        let read = (&mut read).take(8).read_to_end(&mut bytes);
        read.map(|_| bytes).map_err(|error| broken(name, None, error.to_string()))
    };
    let mut first = eight()?;
    if first.starts_with(b"ARROW1") {
        // The magic word is padded to 8 bytes by some writers, to 64 by others.
        first = eight()?;
        for _ in 1..8 {
            if first == [0; 8] {
                first = eight()?;
            }
        }
    }
    let read: Box<dyn Read + Send> = match first.get(..4) {
        Some([0xff, 0xff, 0xff, 0xff]) => Box::new(Cursor::new(first).chain(read)),
        Some(b"FEA1") => {
            let found = fault("this is Feather version 1", "Arrow IPC", "write it as Feather version 2");
            return Err(DataError { file: name.to_owned(), position: None, fault: found });
        }
        _ => {
            let found = fault("the first bytes are not those of Arrow IPC", "ARROW1 or a stream of messages", "");
            return Err(DataError { file: name.to_owned(), position: None, fault: found });
        }
    };
    let mut messages = Messages { read, name: name.to_owned(), row: 0 };
    let schema = messages.schema()?;
    let words = schema.fields().iter().map(|_| None).collect();
    Ok(IpcBatches { messages, schema, dictionaries: HashMap::new(), words, batch: None, next: 0 })
}

/// A reader of messages.
struct Messages {
    read: Box<dyn Read + Send>,
    name: String,
    /// The number of rows decoded.
    row: u64,
}

impl Messages {
    fn broken(&self, found: impl Into<String>) -> DataError {
        broken(&self.name, Some(self.row), found)
    }

    /// Reads exactly `len` bytes. Fails if the file ends before, and allocates only as bytes arrive.
    fn bytes(&mut self, len: u64) -> Result<Vec<u8>, DataError> {
        let mut bytes = Vec::new();
        let read = (&mut self.read).take(len).read_to_end(&mut bytes);
        match read {
            Ok(read) if read as u64 == len => Ok(bytes),
            Ok(_) => Err(self.broken(
                "the file ends before its end marker; it was truncated, or its writer was not \
                 closed",
            )),
            Err(error) => Err(self.broken(error.to_string())),
        }
    }

    fn word(&mut self) -> Result<u32, DataError> {
        let bytes = self.bytes(4)?;
        Ok(bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte)))
    }

    /// Reads the metadata and the body of the next message; `None` at the end mark.
    fn next(&mut self) -> Result<Option<(Vec<u8>, Buffer)>, DataError> {
        let marker = self.word()?;
        if marker != u32::MAX {
            return Err(self.broken(format!("a message begins with {marker:08x} instead of ffffffff")));
        }
        let len = self.word()?;
        if len == 0 {
            return Ok(None);
        }
        if MOST_METADATA < len {
            return Err(self.broken(format!("a message has {len} bytes of metadata; the maximum is {MOST_METADATA}")));
        }
        let metadata = self.bytes(u64::from(len))?;
        let body_len = self.parsed(&metadata)?.bodyLength();
        let body_len = u64::try_from(body_len).map_err(|_| self.broken(format!("a message has {body_len} bytes")))?;
        let body = self.bytes(body_len)?;
        Ok(Some((metadata, Buffer::from_vec(body))))
    }

    fn parsed<'a>(&self, metadata: &'a [u8]) -> Result<Message<'a>, DataError> {
        let parsed =
            guarded(|| root_as_message(metadata).map_err(|error| error.to_string())).and_then(|message| message);
        parsed.map_err(|error| self.broken(format!("a message is invalid: {error}")))
    }

    fn schema(&mut self) -> Result<SchemaRef, DataError> {
        let Some((metadata, _)) = self.next()? else {
            return Err(broken(&self.name, None, "the stream is empty: it has no schema"));
        };
        let message = self.parsed(&metadata)?;
        let Some(schema) = message.header_as_schema() else {
            return Err(broken(&self.name, None, "the first message is not a schema"));
        };
        guarded(|| arrow_ipc::convert::try_fb_to_schema(schema).map_err(|error| error.to_string()))
            .and_then(|schema| schema)
            .map(Arc::new)
            .map_err(|error| broken(&self.name, None, format!("the schema is invalid: {error}")))
    }
}

/// A reader of record batches.
pub(crate) struct IpcBatches {
    messages: Messages,
    schema: SchemaRef,
    dictionaries: HashMap<i64, ArrayRef>,
    words: Vec<Words>,
    /// The current record batch.
    batch: Option<RecordBatch>,
    /// Its next row.
    next: usize,
}

impl ChunkDecoder for IpcBatches {
    fn next(&mut self, wanted: &[bool]) -> Result<Option<Chunk>, DataError> {
        loop {
            if let Some(batch) = self.batch.take_if(|batch| self.next < batch.num_rows()) {
                let chunk = self.chunk(&batch, wanted).map_err(|error| self.messages.broken(error))?;
                self.next += chunk.n_rows;
                self.messages.row += chunk.n_rows as u64;
                self.batch = Some(batch);
                return Ok(Some(chunk));
            }
            self.next = 0;
            self.batch = self.next_batch()?;
            if self.batch.is_none() {
                return Ok(None);
            }
        }
    }
}

impl IpcBatches {
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Decodes the next record batch; `None` at the end.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>, DataError> {
        loop {
            let Some((metadata, body)) = self.messages.next()? else {
                return Ok(None);
            };
            let message = self.messages.parsed(&metadata)?;
            let taken = guarded(|| take(message, &body, &self.schema, &mut self.dictionaries))
                .and_then(|taken| taken)
                .map_err(|error| self.messages.broken(format!("a record batch cannot be read: {error}")))?;
            if taken.is_some() {
                return Ok(taken);
            }
        }
    }

    fn chunk(&mut self, batch: &RecordBatch, wanted: &[bool]) -> Result<Chunk, String> {
        let n_values = batch.schema_ref().fields().iter().zip(batch.columns());
        let n_values = n_values.map(|(field, array)| match field.data_type() {
            DataType::List(_) | DataType::LargeList(_) => array.to_data().child_data()[0].len() as u64,
            DataType::FixedSizeList(_, _) => array.to_data().child_data()[0].len() as u64,
            _ => array.len() as u64,
        });
        let n_rows = chunk_rows(batch.num_rows() as u64, n_values.sum()).min(batch.num_rows() - self.next);
        let mut columns = vec![Values::Absent; self.words.len()];
        for (column, array) in batch.columns().iter().enumerate() {
            if wanted[column] {
                let (array, words) = (array.slice(self.next, n_rows), &mut self.words[column]);
                columns[column] = guarded(|| arrow::values(&array, words)).and_then(|values| values)?;
            }
        }
        Ok(Chunk { n_rows, columns })
    }
}

/// Decodes a message: returns a record batch, or stores a dictionary for later batches.
fn take(
    message: Message<'_>,
    body: &Buffer,
    schema: &Schema,
    dictionaries: &mut HashMap<i64, ArrayRef>,
) -> Result<Option<RecordBatch>, String> {
    let version = message.version();
    match message.header_type() {
        MessageHeader::RecordBatch => {
            let batch = message.header_as_record_batch().ok_or("it is not there")?;
            check(batch, body)?;
            let schema = Arc::new(schema.clone());
            let batch = read_record_batch(body, batch, schema, dictionaries, None, &version);
            batch.map(Some).map_err(|error| error.to_string())
        }
        MessageHeader::DictionaryBatch => {
            let dictionary = message.header_as_dictionary_batch().ok_or("it is not there")?;
            check(dictionary.data().ok_or("a dictionary has no words")?, body)?;
            let read = read_dictionary(body, dictionary, schema, dictionaries, &version);
            read.map(|()| None).map_err(|error| error.to_string())
        }
        other => Err(format!("the message is of the type {other:?}")),
    }
}

/// Checks that the claims of a batch are plausible. Its buffers must lie in its body, and their stated sizes must be
/// possible and hold its rows.
fn check(batch: arrow_ipc::RecordBatch<'_>, body: &[u8]) -> Result<(), String> {
    let ratio = batch.compression().map(|compression| match compression.codec() {
        CompressionType::LZ4_FRAME => pages::LZ4,
        _ => pages::ZSTD,
    });
    let mut unpacked: u64 = 0;
    for buffer in batch.buffers().into_iter().flatten() {
        let start = usize::try_from(buffer.offset()).ok();
        let len = usize::try_from(buffer.length()).ok();
        let end = start.zip(len).and_then(|(start, len)| start.checked_add(len));
        let Some(bytes) = start.zip(end).and_then(|(start, end)| body.get(start..end)) else {
            return Err(format!("a buffer lies outside its message of {} bytes", body.len()));
        };
        let claimed = match (ratio, bytes.first_chunk()) {
            (Some(ratio), Some(claim)) => {
                let claim = u64::try_from(i64::from_le_bytes(*claim)).unwrap_or(bytes.len() as u64);
                if !pages::plausible(bytes.len() as u64, claim, ratio) {
                    return Err(format!("a buffer claims that {} bytes unpack to {claim}", bytes.len()));
                }
                claim
            }
            _ => bytes.len() as u64,
        };
        unpacked = unpacked.saturating_add(claimed);
    }
    if ratio.is_some() && pages::MOST_BYTES < unpacked {
        return Err(format!("it unpacks to {unpacked} bytes, more than {}; write smaller batches", pages::MOST_BYTES));
    }
    match u64::try_from(batch.length()) {
        Ok(n_rows) if n_rows <= unpacked.saturating_mul(8).saturating_add(FREE_ROWS) => Ok(()),
        _ => Err(format!("it claims {} rows in {unpacked} bytes", batch.length())),
    }
}
