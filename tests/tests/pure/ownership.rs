//! Walls that are checked: what a file implements and imports, as the plan of the code has it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Components of a session. None may import another one, but for [`WAITING`]; assemblies (`player`, `joiner`, `serving`)
/// import them all.
const COMPONENTS: [&str; 7] = [
    "ending",
    "links",
    "lobby",
    "membership",
    "rejoin",
    "turns",
    "verify",
];
/// Components that still import others: their parts are not apart yet.
const WAITING: [&str; 2] = ["lobby", "rejoin"];
/// Files that still import each other in a circle, by package: their parts are not apart yet.
const CIRCULAR: [(&str, &[&str]); 2] = [
    (
        "sim",
        &["angle", "columns", "digest", "serde_state", "state", "vec2"],
    ),
    (
        "replay",
        &[
            "cli::contents",
            "cli::report",
            "content",
            "damage",
            "error",
            "format",
            "reader",
            "scan",
            "segment",
            "verify",
        ],
    ),
];
/// Names under which a module of a component is known elsewhere.
const ALIASES: [(&str, &str); 1] = [("session::roster", "session::membership::paxos")];

/// One source file: its module, its lines of code without tests, and what it imports.
struct File {
    path: String,
    module: Vec<String>,
    code: String,
}

fn sources(package: &str) -> Vec<File> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        let entries = std::fs::read_dir(folder).expect("a folder of the source");
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let source = root.join(package).join("src");
    let mut paths = Vec::new();
    walk(&source, &mut paths);
    paths.sort();
    let files = paths.iter().filter_map(|path| {
        let inner = path
            .strip_prefix(&source)
            .expect("within")
            .with_extension("");
        let module = inner.iter().map(|part| part.to_string_lossy().into_owned());
        let mut module: Vec<String> = module.collect();
        if module.iter().any(|part| part == "tests" || part == "bin") {
            return None;
        }
        if module
            .last()
            .is_some_and(|last| last == "mod" || last == "lib")
        {
            module.pop();
        }
        let text = std::fs::read_to_string(path).expect("text");
        let path = path.strip_prefix(&root).expect("within");
        Some(File {
            path: path.display().to_string(),
            module,
            code: code(&text),
        })
    });
    let files: Vec<File> = files.collect();
    assert!(files.len() > 5, "the source of {package} is found");
    files
}

/// The text without comments and without test modules.
fn code(text: &str) -> String {
    let mut lines = Vec::new();
    let mut rest = text.lines().peekable();
    while let Some(line) = rest.next() {
        if line == "#[cfg(test)]" && rest.peek().is_some_and(|next| next.ends_with('{')) {
            rest.find(|line| *line == "}");
            continue;
        }
        lines.push(line.split_once("//").map_or(line, |(code, _)| code));
    }
    lines.join("\n")
}

/// The paths of all `use` items, without braces and with what they are renamed to left out; whether each is public.
fn uses(code: &str) -> Vec<(bool, String)> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find("use ") {
        let line = rest[..at].rfind('\n').map_or(0, |end| end + 1);
        let before = &rest[line..at];
        rest = &rest[at + 4..];
        let public = before.starts_with("pub");
        if !(before.is_empty() || public) {
            continue;
        }
        let Some((item, _)) = rest.split_once(';') else {
            break;
        };
        let item: String = item.split_whitespace().collect::<Vec<_>>().join(" ");
        for path in expand(&item) {
            let path = path.split(" as ").next().unwrap_or_default();
            found.push((public, path.trim().to_owned()));
        }
    }
    found
}

/// `a::{b, c::{d, e}}` as `a::b`, `a::c::d` and `a::c::e`.
fn expand(item: &str) -> Vec<String> {
    let Some((head, rest)) = item.split_once('{') else {
        return vec![item.replace("::self", "").trim().to_owned()];
    };
    let inner = rest.strip_suffix('}').unwrap_or(rest);
    let (mut parts, mut depth, mut begin) = (Vec::new(), 0, 0);
    for (at, letter) in inner.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inner[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[begin..]);
    let parts = parts
        .into_iter()
        .map(str::trim)
        .filter(|part| !part.is_empty());
    let paths = parts.flat_map(|part| expand(&format!("{}{part}", head.trim())));
    paths.collect()
}

/// Paths from the crate's root that stand in code outside of imports.
fn inline(code: &str) -> impl Iterator<Item = String> {
    let places = code.match_indices("crate::");
    places.map(|(at, _)| {
        let path = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
        let end = code[at..].find(|letter| !path(letter));
        code[at..end.map_or(code.len(), |end| at + end)].to_owned()
    })
}

/// A crate's files by module, to find where an imported name is defined.
struct Modules<'a>(BTreeMap<Vec<String>, &'a File>);

impl<'a> Modules<'a> {
    fn new(files: &'a [File]) -> Self {
        Modules(
            files
                .iter()
                .map(|file| (file.module.clone(), file))
                .collect(),
        )
    }

    /// The path from the crate's root, where a path in a module leads into the crate.
    fn absolute(&self, from: &[String], path: &str) -> Option<Vec<String>> {
        let mut parts = path.split("::").map(str::trim).peekable();
        let mut to = from.to_vec();
        match *parts.peek()? {
            "crate" => {
                to.clear();
                parts.next();
            }
            "self" => {
                parts.next();
            }
            "super" => {
                while parts.next_if(|part| *part == "super").is_some() {
                    to.pop();
                }
            }
            first => {
                let child: Vec<String> = from.iter().cloned().chain([first.to_owned()]).collect();
                if !self.0.contains_key(&child) {
                    return None;
                }
            }
        }
        to.extend(parts.map(str::to_owned));
        let text = to.join("::");
        let alias = ALIASES.iter().find(|(alias, _)| text.starts_with(alias));
        Some(match alias {
            Some((alias, of)) => text
                .replacen(alias, of, 1)
                .split("::")
                .map(str::to_owned)
                .collect(),
            None => to,
        })
    }

    /// The module that defines what a path names: names that a module re-exports are followed.
    fn defining(&self, path: &[String], depth: u32) -> Vec<String> {
        let known = (0..=path.len())
            .rev()
            .find(|len| self.0.contains_key(&path[..*len]));
        let module = path[..known.unwrap_or(0)].to_vec();
        let (Some(file), Some(name)) = (self.0.get(&module), path.get(module.len())) else {
            return module;
        };
        let exports = uses(&file.code).into_iter().filter(|(public, _)| *public);
        let mut exports = exports.map(|(_, path)| path);
        let export = exports.find(|path| path.rsplit("::").next() == Some(name));
        let followed = export.and_then(|path| self.absolute(&module, &path));
        match followed.filter(|_| depth > 0) {
            Some(path) => self.defining(&path, depth - 1),
            None => module,
        }
    }

    /// The modules whose names a file imports.
    fn imports(&self, file: &File) -> BTreeSet<Vec<String>> {
        let uses = uses(&file.code).into_iter();
        let own = uses.filter(|(public, _)| !*public).map(|(_, path)| path);
        let paths = own.chain(inline(&file.code));
        let paths = paths.filter_map(|path| self.absolute(&file.module, &path));
        paths.map(|path| self.defining(&path, 4)).collect()
    }
}

/// The component of a session that a module belongs to.
fn component(module: &[String]) -> Option<&str> {
    match module {
        [session, name, ..] if session == "session" => {
            COMPONENTS.into_iter().find(|component| component == name)
        }
        _ => None,
    }
}

/// Imports of one component by another: each is a sentence.
fn sibling_imports(files: &[File]) -> Vec<String> {
    let modules = Modules::new(files);
    let mut found = Vec::new();
    for file in files {
        let Some(own) = component(&file.module).filter(|own| !WAITING.contains(own)) else {
            continue;
        };
        for import in modules.imports(file) {
            if component(&import).is_some_and(|other| other != own) {
                found.push(format!("{} imports {}", file.path, import.join("::")));
            }
        }
    }
    found
}

/// Files that import each other in a circle. A module and one within it may know each other.
fn circles(files: &[File]) -> Vec<String> {
    let modules = Modules::new(files);
    let apart =
        |one: &[String], other: &[String]| !one.starts_with(other) && !other.starts_with(one);
    let edges = files.iter().map(|file| {
        let imports = modules.imports(file).into_iter();
        let imports = imports.filter(|other| apart(&file.module, other));
        (file.module.clone(), imports.collect::<Vec<_>>())
    });
    let edges: BTreeMap<Vec<String>, Vec<Vec<String>>> = edges.collect();
    let reached = |from: &Vec<String>| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(module) = next.pop() {
            for other in edges.get(module).into_iter().flatten() {
                if seen.insert(other.clone()) {
                    next.push(other);
                }
            }
        }
        seen
    };
    let circular = edges
        .keys()
        .filter(|module| reached(module).contains(*module));
    circular.map(|module| module.join("::")).collect()
}

/// Types whose methods stand outside of the folder of the type.
fn strays(files: &[File]) -> Vec<String> {
    let defines = |file: &File, name: &str| {
        let begins = |line: &str| {
            let line = line
                .trim_start_matches("pub ")
                .trim_start_matches("pub(crate) ");
            let line = line.trim_start_matches("pub(super) ");
            let kinds = ["struct ", "enum ", "trait ", "type "];
            let rest = kinds.into_iter().find_map(|kind| line.strip_prefix(kind));
            rest.is_some_and(|rest| {
                let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
                &rest[..end.unwrap_or(rest.len())] == name
            })
        };
        file.code.lines().any(begins)
    };
    let mut found = Vec::new();
    for file in files {
        for line in file.code.lines().filter(|line| line.starts_with("impl")) {
            let Some(name) = own_type(line) else {
                continue;
            };
            let mut homes = files.iter().filter(|home| defines(home, &name)).peekable();
            if homes.peek().is_some() && !homes.any(|home| is_at_home(&file.module, home)) {
                found.push(format!("{}: impl {name}", file.path));
            }
        }
    }
    found
}

/// The type that a line begins methods of; `None` for those of a trait.
fn own_type(line: &str) -> Option<String> {
    let rest = line.strip_prefix("impl")?;
    let rest = match rest.strip_prefix('<') {
        Some(generic) => generic.split_once("> ")?.1,
        None => rest.strip_prefix(' ')?,
    };
    let name: String = rest
        .chars()
        .take_while(|letter| letter.is_alphanumeric())
        .collect();
    (!line.contains(" for ") && !name.is_empty()).then_some(name)
}

/// Whether a module may hold methods of a type that another file defines: it is that file, within it, or in the folder of
/// one component with it.
fn is_at_home(module: &[String], home: &File) -> bool {
    let folder = match home.path.ends_with("/mod.rs") || home.module.is_empty() {
        true => home.module.as_slice(),
        false => &home.module[..home.module.len() - 1],
    };
    let is_shared = folder.is_empty() || folder == ["session"];
    module.starts_with(&home.module) && !home.module.is_empty()
        || module == home.module.as_slice()
        || !is_shared && module.starts_with(folder)
}

#[test]
fn methods_stand_in_the_folder_of_their_type() {
    for package in ["sim", "lockstep", "replay"] {
        let strays = strays(&sources(package));
        assert!(strays.is_empty(), "{package}: {strays:#?}");
    }
}

#[test]
fn no_component_of_a_session_imports_another() {
    let found = sibling_imports(&sources("lockstep"));
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    for (package, known) in CIRCULAR {
        let mut circles = circles(&sources(package));
        circles.retain(|file| !known.contains(&file.as_str()));
        assert!(circles.is_empty(), "{package}: {circles:#?}");
    }
}

#[test]
fn the_log_imports_nothing_of_the_session() {
    let files = sources("lockstep");
    let modules = Modules::new(&files);
    let of_log = files
        .iter()
        .filter(|file| file.module.first().is_some_and(|first| first == "log"));
    for file in of_log {
        for import in modules.imports(file) {
            let session = import.first().is_some_and(|first| first == "session");
            assert!(!session, "{} imports {}", file.path, import.join("::"));
        }
    }
}

/// Files as the checks see them.
fn planted(files: &[(&str, &str)]) -> Vec<File> {
    let files = files.iter().map(|(module, text)| File {
        path: format!("{module}.rs"),
        module: module.split('/').map(str::to_owned).collect(),
        code: code(text),
    });
    files.collect()
}

#[test]
fn the_checks_find_planted_violations() {
    let files = planted(&[
        (
            "session/turns",
            "pub(crate) struct Turns;\nuse super::verify::{Verify, Mismatch};\n",
        ),
        (
            "session/verify",
            "pub(crate) struct Verify;\nmod finding;\npub(crate) use finding::Mismatch;\n",
        ),
        (
            "session/verify/finding",
            "use crate::session::turns::Turns;\nimpl Turns {\n}\n",
        ),
        ("session/lobby", "use super::turns::Turns;\n"),
        (
            "log",
            "use crate::session::turns::Turns;\n#[cfg(test)]\nmod tests {\n    use crate::live;\n}\n",
        ),
    ]);
    assert_eq!(
        sibling_imports(&files),
        [
            "session/turns.rs imports session::verify",
            "session/turns.rs imports session::verify::finding",
            "session/verify/finding.rs imports session::turns",
        ]
    );
    assert_eq!(
        circles(&files),
        ["session::turns", "session::verify::finding"]
    );
    assert_eq!(strays(&files), ["session/verify/finding.rs: impl Turns"]);
    let modules = Modules::new(&files);
    let of_log: Vec<_> = modules.imports(&files[4]).into_iter().collect();
    assert_eq!(of_log, [["session", "turns"]]);
}
