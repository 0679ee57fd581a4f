//! Writes the inputs that fuzzing begins with, of real messages, into `tests/fuzz/seeds`. For a change of what they are
//! encodings of: `cargo run -p tests --bin seeds`.

use std::path::Path;
use std::{fs, io};

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds");
    for (target, name, bytes) in tests::targets::seeds() {
        let folder = folder.join(target);
        fs::create_dir_all(&folder)?;
        println!("{target}/{name}: {} bytes", bytes.len());
        fs::write(folder.join(name), bytes)?;
    }
    Ok(())
}
