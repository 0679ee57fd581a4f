//! Licences, sources and duplicate versions of dependencies, by the lists of `deny.toml`.

use crate::tidy::read;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;
use std::process::Command;

/// The quoted strings of each line of a list in `deny.toml`, which has one entry a line.
fn list(section: &str, key: &str) -> Vec<Vec<String>> {
    let file = read("deny.toml");
    let of_section = file.split("\n[").find_map(|part| {
        let (name, rest) = part.split_once(']')?;
        (name == section).then_some(rest)
    });
    let of_section = of_section.unwrap_or_else(|| panic!("deny.toml has [{section}]"));
    let begins = format!("\n{key} = [");
    let list = of_section
        .split_once(&begins)
        .map(|(_, list)| list.split_once("\n]").map_or(list, |(list, _)| list));
    let list = list.unwrap_or_else(|| panic!("[{section}] has {key}"));
    // A list on one line ends with it.
    let one_line = !list.starts_with('\n');
    let lines = list.lines().take(if one_line { 1 } else { usize::MAX });
    let entries = lines.filter(|line| !line.trim_start().starts_with('#'));
    let strings = entries.map(|line| line.split('"').skip(1).step_by(2));
    let strings = strings.map(|of_line| of_line.map(str::to_owned).collect::<Vec<_>>());
    strings.filter(|of_line| !of_line.is_empty()).collect()
}

/// A package of a `Cargo.lock`.
struct Locked<'a> {
    name: &'a str,
    version: &'a str,
    /// None for a crate of the workspace.
    source: Option<&'a str>,
}

fn locked(lock: &str) -> Vec<Locked<'_>> {
    let packages = lock.split("[[package]]").skip(1);
    let packages = packages.map(|package| {
        let field = |key: &str| {
            let mut fields = package.lines().filter_map(|line| line.split_once(" = "));
            let field = fields.find(|(name, _)| *name == key);
            field.map(|(_, value)| value.trim_matches('"'))
        };
        Locked {
            name: field("name").expect("a package has a name"),
            version: field("version").expect("a package has a version"),
            source: field("source"),
        }
    });
    packages.collect()
}

/// Packages from elsewhere than these registries.
fn foreign(lock: &str, registries: &[String]) -> Vec<String> {
    let is_foreign = |source: &str| {
        let registry = source.strip_prefix("registry+");
        !registry.is_some_and(|registry| registries.iter().any(|known| known == registry))
    };
    let foreign = locked(lock).into_iter().filter_map(|package| {
        let source = package.source.filter(|source| is_foreign(source))?;
        Some(format!("{} comes from {source}", package.name))
    });
    foreign.collect()
}

/// Whether a version belongs to an entry such as `syn:^2`.
fn is_skipped(package: &Locked<'_>, entry: &str) -> bool {
    let (name, version) = entry.split_once(":^").expect("an entry names a version");
    let rest = package.version.strip_prefix(version);
    name == package.name && rest.is_some_and(|rest| rest.starts_with('.'))
}

/// Crates in more versions than one, without those that are skipped; and entries that skip nothing which has another
/// version.
fn duplicates(lock: &str, skipped: &[String]) -> Vec<String> {
    let packages = locked(lock);
    let mut versions: BTreeMap<&str, Vec<&Locked<'_>>> = BTreeMap::new();
    for package in &packages {
        versions.entry(package.name).or_default().push(package);
    }
    versions.retain(|_, of_name| of_name.len() > 1);
    let mut needed = BTreeSet::new();
    let mut found = Vec::new();
    for (name, of_name) in versions {
        let left = of_name.iter().filter(|package| {
            let entry = skipped.iter().find(|entry| is_skipped(package, entry));
            needed.extend(entry);
            entry.is_none()
        });
        let left: Vec<&str> = left.map(|package| package.version).collect();
        if left.len() > 1 {
            found.push(format!("{name} has versions {}", left.join(" and ")));
        }
    }
    let unneeded = skipped.iter().filter(|entry| !needed.contains(entry));
    found.extend(unneeded.map(|entry| format!("{entry} is skipped for nothing")));
    found
}

/// The words of a licence expression that are left to read.
type Words<'a> = Peekable<std::vec::IntoIter<&'a str>>;

/// Whether one of the choices that a licence expression leaves is allowed whole.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression.replace('/', " OR ");
    let spaced = spaced.replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut words = words.into_iter().peekable();
    let holds = any_of(&mut words, allowed);
    assert_eq!(words.next(), None, "the end of {expression}");
    holds
}

fn any_of(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    let mut holds = all_of(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        holds |= all_of(words, allowed);
    }
    holds
}

fn all_of(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    let mut holds = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        holds &= one(words, allowed);
    }
    holds
}

fn one(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    if words.next_if_eq(&"(").is_some() {
        let holds = any_of(words, allowed);
        assert_eq!(words.next(), Some(")"));
        return holds;
    }
    let mut licence = words.next().unwrap_or_default().to_owned();
    if words.next_if_eq(&"WITH").is_some() {
        licence = format!("{licence} WITH {}", words.next().unwrap_or_default());
    }
    allowed.contains(&licence.as_str())
}

/// The only string of each line.
fn names(section: &str, key: &str) -> Vec<String> {
    list(section, key).into_iter().flatten().collect()
}

#[test]
fn dependencies_come_from_the_registry() {
    let registries = names("sources", "allow-registry");
    assert!(!registries.is_empty());
    for lock in [
        "Cargo.lock",
        "tests/fuzz/Cargo.lock",
        "tests/rivals/Cargo.lock",
    ] {
        let foreign = foreign(&read(lock), &registries);
        assert!(foreign.is_empty(), "{lock}: {foreign:#?}");
    }
}

#[test]
fn no_dependency_has_two_versions_without_a_reason() {
    let entries = list("bans", "skip");
    for entry in &entries {
        assert!(
            matches!(&entry[..], [_, reason] if !reason.is_empty()),
            "{entry:?}"
        );
    }
    let skipped: Vec<String> = entries
        .into_iter()
        .filter_map(|entry| entry.into_iter().next())
        .collect();
    let found = duplicates(&read("Cargo.lock"), &skipped);
    assert!(found.is_empty(), "{found:#?}");
}

/// Of the crates that this system builds: of others there may be no manifest here.
#[test]
fn licences_of_dependencies_are_allowed() {
    let run = |program: &str, arguments: &[&str]| {
        let program = std::env::var(program.to_uppercase()).unwrap_or_else(|_| program.to_owned());
        let output = Command::new(program)
            .args(arguments)
            .output()
            .expect("it runs");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {told}");
        String::from_utf8(output.stdout).expect("text")
    };
    let about = run("rustc", &["-vV"]);
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let host = host.expect("a compiler names its host");
    let graph = run(
        "cargo",
        &[
            "metadata",
            "--offline",
            "--locked",
            "--format-version=1",
            "--manifest-path",
            manifest,
            "--filter-platform",
            host,
        ],
    );
    let graph: Value = serde_json::from_str(&graph).expect("JSON");
    let packages = graph["packages"].as_array().expect("a list");
    assert!(packages.len() > 100, "{}", packages.len());
    let allowed = names("licenses", "allow");
    let exceptions = list("licenses", "exceptions");
    let mut refused = Vec::new();
    for package in packages {
        let name = package["name"].as_str().expect("a name");
        let licence = package["license"].as_str().unwrap_or("none");
        let own = exceptions.iter().filter(|exception| exception[0] == name);
        let own = own.flat_map(|exception| &exception[1..]);
        let allowed: Vec<&str> = allowed.iter().chain(own).map(String::as_str).collect();
        if !is_allowed(licence, &allowed) {
            refused.push(format!("{name}: {licence}"));
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn dependencies_that_are_not_allowed_are_found() {
    let lock = r#"
[[package]]
name = "ours"
version = "0.1.0"

[[package]]
name = "good"
version = "1.2.0"
source = "registry+https://good"

[[package]]
name = "good"
version = "2.0.0"
source = "registry+https://good"

[[package]]
name = "fork"
version = "1.0.0"
source = "git+https://good#0123"

[[package]]
name = "mirror"
version = "1.0.0"
source = "registry+https://other"
"#;
    let found = foreign(lock, &["https://good".to_owned()]);
    assert_eq!(
        found,
        [
            "fork comes from git+https://good#0123",
            "mirror comes from registry+https://other"
        ]
    );
    assert_eq!(duplicates(lock, &[]), ["good has versions 1.2.0 and 2.0.0"]);
    assert!(duplicates(lock, &["good:^1".to_owned()]).is_empty());
    let skipped = ["good:^1", "good:^3", "fork:^1"].map(str::to_owned);
    let unneeded = [
        "good:^3 is skipped for nothing",
        "fork:^1 is skipped for nothing",
    ];
    assert_eq!(duplicates(lock, &skipped), unneeded);

    let allowed = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"];
    for (expression, is) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("none", false),
        ("GPL-3.0/MIT", true),
        ("GPL-3.0 OR GPL-2.0 OR MIT", true),
        ("MIT AND GPL-3.0", false),
        ("MIT AND ISC", true),
        ("(MIT OR GPL-3.0) AND ISC", true),
        ("(MIT OR GPL-3.0) AND GPL-2.0", false),
        ("GPL-3.0 OR (MIT AND ISC)", true),
        ("Apache-2.0", false),
        ("Apache-2.0 WITH LLVM-exception", true),
    ] {
        assert_eq!(is_allowed(expression, &allowed), is, "{expression}");
    }
}
