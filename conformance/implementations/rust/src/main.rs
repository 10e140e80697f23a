//! An independent selector, spoken to in JSON lines over standard input and output.

mod block;
mod canonical;
mod conversation;
mod effect;
mod event;
mod evidence;
mod form;
mod fraction;
mod incidents;
mod json;
mod key;
mod median;
mod memory;
mod moment;
mod natural;
mod policy;
mod problem;
mod quarantine;
mod questions;
mod record;
mod refusal;
mod regression;
mod report;
mod search;
mod selector;
mod sha256;
mod tally;
mod text;

use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::thread;

use conversation::Conversation;
use json::Value;
use policy::Policy;

/// JSON is read by descent, and a request may be nested deeply only to be refused.
const STACK_BYTES: usize = 256 << 20;

fn main() -> ExitCode {
    let speaker = thread::Builder::new().stack_size(STACK_BYTES).spawn(speak);
    let result = match speaker.map(thread::JoinHandle::join) {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => return ExitCode::FAILURE,
        Err(error) => Err(error.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Answer every line until the suite says goodbye or closes its end.
fn speak() -> Result<(), String> {
    let default = Policy::read(&Value::object([])).map_err(|why| why.reason().to_string())?;
    let mut conversation = Conversation::new(default);
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let answer = conversation.answer(&line).map_err(|why| why.0)?;
        writeln!(output, "{answer}")
            .and_then(|()| output.flush())
            .map_err(|error| error.to_string())?;
        if conversation.is_over {
            break;
        }
    }
    Ok(())
}
