//! The page: tables, plots, and what is unfair to which library.

use crate::contestant::KINDS;
use crate::link::Cell;
use crate::plan::{Extent, NAMED};
use crate::plots;
use crate::table::{HEAD, Row, verdicts};
use std::error::Error;
use std::path::Path;

/// Everything that a page tells.
pub struct Page {
    /// The last commit that changed anything but the page.
    pub commit: String,
    /// The first and the last day.
    pub days: (String, String),
    /// The command, behind the name of the program.
    pub arguments: String,
    /// Peers that ran at once.
    pub peers_at_once: usize,
    /// Matches of equal cadence that are played, and that there are, where that is not the same.
    pub so_far: Option<(usize, usize)>,
    /// Rows of equal cadence.
    pub equal: Vec<Row>,
    /// Rows of tuned libraries.
    pub tuned: Vec<Row>,
}

impl Page {
    /// Writes the page and its plots.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, extent: &Extent, folder: &Path) -> Result<(), Box<dyn Error>> {
        std::fs::create_dir_all(folder)?;
        let usual = self.equal.iter().filter(|row| is_usual(row));
        let usual: Vec<Row> = usual.cloned().collect();
        let title = "Equal cadence: turns of 200 ms, one of them for the network";
        plots::latencies(&usual, title, &folder.join("rivals-equal.svg"))?;
        if !self.tuned.is_empty() {
            let title = "Each library tuned for the cell";
            plots::latencies(&self.tuned, title, &folder.join("rivals-tuned.svg"))?;
        }
        std::fs::write(folder.join("rivals.md"), self.text(extent))?;
        Ok(())
    }

    fn text(&self, extent: &Extent) -> String {
        let mut text = HEADING.to_owned();
        let Page {
            commit,
            arguments,
            peers_at_once,
            days: (first, last),
            ..
        } = self;
        let days = if first == last {
            first.clone()
        } else {
            format!("{first} to {last}")
        };
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        text += &format!(
            "```sh\ncargo run --manifest-path tests/rivals/Cargo.toml -- {arguments}\n```\n\n\
             Commit {commit}, {days}, {cores} cores shared with other work, at most {peers_at_once} peers at once. Each \
             match counts {} s behind a warm-up of {} s, with {} seed{}.",
            extent.seconds,
            extent.warm_up,
            extent.seeds.len(),
            if extent.seeds.len() == 1 { "" } else { "s" },
        );
        if arguments.contains("--quick") {
            text += SHORTENED;
        }
        if let Some((played, of)) = self.so_far {
            text += &format!(
                " So far {played} of {of} matches of equal cadence are played. Each row says with how many seeds; the \
                 command goes on with the others."
            );
        }
        let crowded = self.equal.iter().chain(&self.tuned);
        let crowded = crowded.filter(|row| row.is_crowded()).count();
        if crowded > 0 {
            text += &format!(
                " {crowded} rows were measured while the processors were full: they tell of the machine more than of a \
                 library. Fewer peers at once make it better."
            );
        }
        text += "\n\n## The goal\n\n";
        for (claim, holds) in verdicts(&self.equal, &self.tuned) {
            let mark = match holds {
                Some(true) => "yes",
                Some(false) => "**no**",
                None => "open",
            };
            text += &format!("- {mark}: {claim}.\n");
        }
        text += "\n## Equal cadence\n\n";
        text += EQUAL;
        text += "![95th percentiles at equal cadence](rivals-equal.svg)\n\n";
        text += &summary(&self.equal);
        text += "\n";
        text += &table(&self.equal);
        if !self.tuned.is_empty() {
            text += "\n## Tuned\n\n";
            text += &searched(extent);
            text += "![95th percentiles of tuned libraries](rivals-tuned.svg)\n\n";
            text += &table(&self.tuned);
        }
        text += READING;
        text
    }
}

/// Whether a row is of turns of 200 ms, one of which is for the network.
fn is_usual(row: &Row) -> bool {
    row.contestant.cadence_ms == 200 && row.contestant.budget_turns <= 1
}

/// The p95 of each cell, side by side.
fn summary(rows: &[Row]) -> String {
    let mut cells: Vec<Cell> = rows.iter().map(|row| row.cell).collect();
    cells.sort();
    cells.dedup();
    let mut text = "| p95 ms |".to_owned();
    for kind in KINDS {
        text += &format!(" {} |", kind.name());
    }
    text += &format!("\n|---|{}\n", "---|".repeat(KINDS.len()));
    for cell in cells {
        text += &format!("| {cell} |");
        for kind in KINDS {
            let fits =
                |row: &&Row| row.cell == cell && row.contestant.kind == kind && is_usual(row);
            let p95 = rows.iter().find(fits).and_then(Row::p95);
            text += &p95.map_or(" – |".to_owned(), |ms| format!(" {ms:.0} |"));
        }
        text += "\n";
    }
    text
}

/// All fields of all rows.
pub fn table(rows: &[Row]) -> String {
    let mut text = format!("| {} |\n|{}\n", HEAD.join(" | "), "---|".repeat(HEAD.len()));
    for row in rows {
        text += &format!("| {} |\n", row.fields().join(" | "));
    }
    text
}

fn searched(extent: &Extent) -> String {
    let lengths: Vec<String> = extent.search_ms.iter().map(u64::to_string).collect();
    let names: Vec<String> = NAMED.map(|(name, cell)| format!("{name} {cell}")).to_vec();
    format!(
        "For each library and cell, the search plays a match of {} s for each candidate. Candidates are turns of {} ms. For \
         each length, the network has as many turns as a packet takes one way; one turn more; and as many as one \
         repetition after a round trip needs. The candidate with the lowest p95 wins, among those that stall for at most \
         1 % of the time. Where all stall for longer, the one that stalls least wins. Ours is not better than a \
         rival where it stalls for longer than that and the rival does not. A seed of its own serves the search. A short \
         search chooses by chance among candidates that are close, or that stall for nearly 1 %. Cells with a name: {}.\n\n",
        extent.search_seconds,
        lengths.join(", "),
        names.join(", "),
    )
}

const HEADING: &str = "\
# The field beside us

Other Rust libraries for the same games, over the same bad network, with the same commands. `tests/rivals/` measures them
and writes this page. It is a workspace of its own, so no game that uses the kit builds the others.

";

const SHORTENED: &str = " The figures are of `--quick`: each row is shortened, and has few samples. Without `--quick` all 60 \
cells are played with three seeds of 60 s.";

const EQUAL: &str = "\
A cell such as `4p-100ms-1` has four players, 100 ms from each to each and back, and 1 % of packets lost. Bursts are outages
of 100 to 300 ms, a twentieth of the time. The delay varies by a tenth.

`ours-200x2` seals a turn each 200 ms and executes it two turns later. `ggrs-gated-200d1` runs 5 frames a second with an
input delay of 1, and its game advances on confirmed frames alone. Both leave the network 200 ms, and a command takes 200 to
400 ms where no turn is late. `fortress-200d1` runs ahead on predictions, and confirms later. `synctick-200` runs ticks of
200 ms. Behind each p95 stands the range in which it lies with 95 % of certainty, by its number of commands.

";

const READING: &str = "
## How it is measured

- Each peer is a process with UDP sockets of its own. One proxy in user space delays, loses and counts all packets. It adds
  28 bytes for each packet. Losses follow from the seed, the link and the number of the packet since all peers run.
  Outages follow from the seed, the link and the time since then.
- Each player issues commands of 16 bytes by one seeded trace: 2 to 5 a second, with idle gaps of up to 4 s.
- Latency is the time from issue to execution at the issuing player, once the inputs of all players are confirmed. A
  command that is not executed by the end counts with its age.
- A stall is the time beyond the cadence in which no confirmed step is executed. Lateness of up to a tenth of the cadence and
  5 ms is none.
- A command is lost if a later one of its player is executed and it is not. It is late if it waits 3 s behind the end.
- Processor time is of all threads of a peer. Each library has time 250 times a second. ggrs and its fork have it also when
  a frame is due, and each millisecond while that waits. The kit tells when it has work.
- Behind the measurement, one player flips one bit of its state. The turns until a library reports it count for 4 s.
- The step is a hash. The loss of packets begins when all peers run.

## What is unfair, and to which library

- **To ours:** its links are encrypted, each batch is signed, and each peer keeps a log. The others send plain text without
  proofs.
- **To ours, tuned:** its plans end at eight turns, so short turns do not reach far networks. Input delays of the others may
  be longer.
- **To ours:** it serves any number and size of commands. The others are given what the trace needs.
- **To ggrs and fortress-rollback:** they are made for prediction, and a player of theirs sees its own command at once. Here
  only confirmed execution counts. Their input holds four commands of 16 bytes, since inputs have one size.
- **To ggrs stock:** its lockstep drops an input that changes while it stalls. The loop here keeps the input, so it loses
  none. Its lockstep saves no state, so it has no checksums to compare and reports no desync.
- **To fortress-rollback:** a gate as for ggrs would let it stand still with three players and more. So it predicts, and its
  columns tell when steps are confirmed. A frame is confirmed once the other peers have told that they have it, too.
- **To the others, tuned:** the search does not look at bytes. Ours may win by sending more of them, as the column shows.
- **To ggrs gated:** the gate is a game's code. ggrs has the loop in its guide, and not the gate.
- **To synctick:** its host is a player without a network, and its processor time and bytes are a server's. The columns show
  means, and the player that sends most.
- **To all but synctick:** it waits for no player. A command that is late goes into a later tick. A client that misses
  ticks stalls alone, and its host never does.
- **To all:** the times at which peers are silent before they count as gone are 10 s for ggrs and its fork. A machine with
  other work delays processes, and so lengthens the tails of all.
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Job, Measured};

    #[test]
    fn a_page_has_commit_command_and_every_row() {
        let row = |contestant: &str| {
            let job = Job {
                cell: "2p-50ms-1".parse().expect("a cell"),
                contestant: contestant.parse().expect("a contestant"),
                seed: 1,
                seconds: 15,
                warm_up: 2,
                flips: true,
            };
            let measured = Measured {
                latencies_ms: vec![300.0],
                ..Measured::default()
            };
            Row::new(&[(job, &measured)]).expect("a row")
        };
        let page = Page {
            commit: "abcdef".to_owned(),
            days: ("2000-01-02".to_owned(), "2000-01-03".to_owned()),
            arguments: "--quick".to_owned(),
            peers_at_once: 24,
            so_far: Some((3, 900)),
            equal: vec![
                row("ours-200x2"),
                row("ggrs-gated-200d1"),
                row("ggrs-gated-200d2"),
            ],
            tuned: vec![row("ours-50x2")],
        };
        let text = page.text(&Extent::quick());
        for part in [
            "abcdef",
            "2000-01-02 to 2000-01-03",
            "--quick",
            "So far 3 of 900 matches",
            "| 2p-50ms-1 | ours-200x2 | 300 | 300 (300–300) |",
            "| 2p-50ms-1 | ggrs-gated-200d2 |",
            "1 of 1 × 15 s, shortened",
            "| 2p-50ms-1 | 300 | 300 | – | – | – |",
            "- yes: p95 no worse than gated ggrs",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
