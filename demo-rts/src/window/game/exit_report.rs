//! What the program prints, and its exit code, once the window has closed.

use crate::exit::{self, Problem};
use crate::output::{EndLine, Line};
use crate::peer::Peer;
use crate::plain;
use lockstep::Ended;
use std::path::PathBuf;
use std::process::ExitCode;

/// What the program prints after the window has closed.
#[derive(Debug, Default)]
pub struct ExitReport {
    lines: Vec<String>,
    code: Option<u8>,
    /// Why the next run of the match did not begin.
    problem: Option<Problem>,
}

impl ExitReport {
    /// Takes the result of a match, in place of an earlier one.
    pub fn take(&mut self, ended: &Ended, peer: &mut Peer) {
        let summary = peer.summary();
        let end = Line::End(Box::new(EndLine::new(ended, &summary)));
        self.code = Some(exit::of_end(&ended.reason));
        self.problem = None;
        self.lines = vec![plain::text(&end).unwrap_or_default()];
        let hint = peer.rejoin_hint(&ended.reason);
        self.lines.extend(hint.map(|how| format!("  {how}")));
        let watch = |path: PathBuf| {
            format!(
                "  watch the replay: demo-rts watch {}",
                plain::quoted(&path)
            )
        };
        self.lines.extend(summary.replay.map(watch));
    }

    /// Takes why the next run of a match did not begin, in place of an earlier result.
    pub fn fail(&mut self, why: Problem) {
        *self = ExitReport {
            code: Some(why.code()),
            problem: Some(why),
            ..ExitReport::default()
        };
    }

    /// The exit code.
    pub fn code(&self) -> u8 {
        self.code.unwrap_or(exit::GOOD)
    }

    /// The lines for people.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Prints the lines, or the problem, and returns the exit code.
    ///
    /// # Errors
    /// Stdout failed.
    pub fn say(&self) -> Result<ExitCode, Problem> {
        for line in &self.lines {
            plain::print(line).map_err(Problem::Terminal)?;
        }
        if let Some(problem) = &self.problem {
            return Ok(exit::report(problem));
        }
        Ok(ExitCode::from(self.code()))
    }
}
