//! The walls of the house: modules of a crate form no cycle, no command reaches into the room of another.
//!
//! A module points to another if it names something defined there, by any path and through any re-export. The modules of one parent, each
//! with all modules inside it, must form no cycle. Children may use definitions of their parent, as functions use their file's. Code
//! compiled only for tests is ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, UseTree};
use xtask::repository_root;

/// Path of the commands' rooms in the program.
const ROOMS: [&str; 2] = ["crate", "commands"];
/// Methods that read to the end, however far it is.
const READS_TO_THE_END: [&str; 4] = ["read_line", "read_to_end", "read_to_string", "read_until"];
/// Maximum length of a chain of re-exports.
pub const LONGEST_CHAIN: usize = 16;

/// A path: `["crate", "placement", "plan"]`.
pub type PathSegments = Vec<String>;

/// A file's part in the house.
#[derive(Debug, Default)]
pub struct ModuleUses {
    /// Meaning of each name imported by `use`.
    pub names: BTreeMap<String, PathSegments>,
    /// Sources of glob imports.
    pub globs: Vec<PathSegments>,
    /// Names defined here.
    pub defined: BTreeSet<String>,
    /// Every path written here.
    pub paths: BTreeSet<PathSegments>,
    /// The names of all methods called here.
    pub methods: BTreeSet<String>,
    /// Functions that read to the end of something of unlimited length.
    pub unlimited_reads: BTreeSet<String>,
    /// The types for which `Artifact` is implemented here.
    pub artifacts: BTreeSet<String>,
}

/// The modules of a crate by their paths.
pub type CrateModules = BTreeMap<PathSegments, ModuleUses>;

/// References between modules of one parent, with the names that cause them.
type ModuleArrows<'a> = BTreeMap<&'a [String], BTreeMap<&'a [String], Vec<String>>>;

/// Checks every crate; returns false if there is a cycle or an open wall, after printing them.
pub fn check_crates() -> Result<bool> {
    let wrong: Vec<String> = read_crates()?
        .iter()
        .flat_map(|(name, house)| list_faults(house).into_iter().map(move |fault| format!("{name}: {fault}")))
        .collect();
    wrong.iter().for_each(|fault| println!("{fault}"));
    Ok(wrong.is_empty())
}

/// Reads every crate: its folder's name, and its modules.
pub fn read_crates() -> Result<Vec<(String, CrateModules)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(repository_root().join("crates"))? {
        let folder = entry?.path();
        for top in ["lib.rs", "main.rs"].map(|name| folder.join("src").join(name)) {
            if top.is_file() {
                let house = read_crate(&top).with_context(|| top.display().to_string())?;
                all.push((folder.file_name().unwrap_or_default().to_string_lossy().into_owned(), house));
            }
        }
    }
    Ok(all)
}

fn read_crate(top: &Path) -> Result<CrateModules> {
    let mut house = CrateModules::new();
    let folder = top.parent().context("a file lies in a folder")?;
    add_module(&mut house, vec!["crate".into()], folder, &syn::parse_file(&fs::read_to_string(top)?)?.items)?;
    Ok(house)
}

/// Adds a module and, from their files, the modules that it declares.
fn add_module(house: &mut CrateModules, path: PathSegments, folder: &Path, items: &[Item]) -> Result<()> {
    let mut module = ModuleUses::default();
    ModuleReader { path: &path, module: &mut module }.read_items(items);
    house.insert(path.clone(), module);
    for item in items {
        let Item::Mod(ItemMod { attrs, ident, content: None, .. }) = item else { continue };
        if is_of_tests(attrs) {
            continue;
        }
        let name = ident.to_string().trim_start_matches("r#").to_owned();
        let inner = folder.join(&name);
        let file = [folder.join(format!("{name}.rs")), inner.join("mod.rs")].into_iter().find(|file| file.is_file());
        let file = file.with_context(|| format!("there is no file of the module {name}"))?;
        let parsed = syn::parse_file(&fs::read_to_string(&file)?).with_context(|| file.display().to_string())?;
        add_module(house, [path.clone(), vec![name]].concat(), &inner, &parsed.items)?;
    }
    Ok(())
}

fn is_of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_test = |condition: &syn::Meta| match condition {
            syn::Meta::Path(word) => word.is_ident("test"),
            syn::Meta::List(list) if list.path.is_ident("all") => {
                list.tokens.to_string().split(',').any(|word| word.trim() == "test")
            }
            _ => false,
        };
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Meta>().is_ok_and(|condition| is_test(&condition))
    })
}

/// Collects the facts of a file.
struct ModuleReader<'a> {
    path: &'a PathSegments,
    module: &'a mut ModuleUses,
}

impl ModuleReader<'_> {
    fn read_items(&mut self, items: &[Item]) {
        for item in items {
            let name = match item {
                Item::Const(item) => Some(&item.ident),
                Item::Enum(item) => Some(&item.ident),
                Item::Fn(item) => Some(&item.sig.ident),
                Item::Mod(item) => Some(&item.ident),
                Item::Static(item) => Some(&item.ident),
                Item::Struct(item) => Some(&item.ident),
                Item::Trait(item) => Some(&item.ident),
                Item::Type(item) => Some(&item.ident),
                Item::Union(item) => Some(&item.ident),
                Item::Macro(item) => item.ident.as_ref(),
                _ => None,
            };
            self.module.defined.extend(name.map(|name| name.to_string().trim_start_matches("r#").to_owned()));
            self.visit_item(item);
        }
    }

    /// Returns the whole path of one written in this file.
    fn absolute_path(&self, written: &[String]) -> PathSegments {
        let ups = written.iter().take_while(|word| *word == "super").count();
        match written.first().map(String::as_str) {
            Some("self") => [self.path, &written[1..]].concat(),
            Some("super") => [&self.path[..self.path.len().saturating_sub(ups).max(1)], &written[ups..]].concat(),
            Some(first) if self.module.defined.contains(first) && written.len() > 1 => [self.path, written].concat(),
            _ => written.to_vec(),
        }
    }

    fn read_imports(&mut self, tree: &UseTree, before: &[String]) {
        let with = |name: &syn::Ident| [before, &[name.to_string().trim_start_matches("r#").to_owned()]].concat();
        match tree {
            UseTree::Path(path) => self.read_imports(&path.tree, &with(&path.ident)),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.read_imports(tree, before)),
            UseTree::Glob(_) => self.module.globs.push(self.absolute_path(before)),
            UseTree::Name(name) if name.ident == "self" => self.add_import(before.last().cloned(), before.to_vec()),
            UseTree::Name(name) => self.add_import(Some(name.ident.to_string()), with(&name.ident)),
            UseTree::Rename(rename) if rename.ident == "self" => {
                self.add_import(Some(rename.rename.to_string()), before.to_vec());
            }
            UseTree::Rename(rename) => self.add_import(Some(rename.rename.to_string()), with(&rename.ident)),
        }
    }

    fn add_import(&mut self, name: Option<String>, path: PathSegments) {
        let path = self.absolute_path(&path);
        self.module.paths.insert(path.clone());
        self.module.names.extend(name.map(|name| (name, path)));
    }
}

impl<'ast> Visit<'ast> for ModuleReader<'_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_of_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let implemented = item.trait_.as_ref().and_then(|(path, _)| path.segments.last());
        if let syn::Type::Path(own) = &*item.self_ty
            && implemented.is_some_and(|name| name.ident == "Artifact")
        {
            self.module.artifacts.extend(own.path.segments.last().map(|name| name.ident.to_string()));
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.read_imports(&item.tree, &[]);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let words: PathSegments =
            path.segments.iter().map(|word| word.ident.to_string().trim_start_matches("r#").to_owned()).collect();
        let is_relative = words.first().is_some_and(|first| first == "self" || first == "super");
        self.module.paths.insert(if is_relative && words.len() > 1 { self.absolute_path(&words) } else { words });
        visit::visit_path(self, path);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let name = call.method.to_string();
        // Those of the standard library fill a buffer.
        if READS_TO_THE_END.contains(&name.as_str()) && !call.args.is_empty() && !is_limited(&call.receiver) {
            self.module.unlimited_reads.insert(name.clone());
        }
        self.module.methods.insert(name);
        visit::visit_expr_method_call(self, call);
    }

    /// Reads a macro's arguments if they parse as one or several expressions.
    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        type Arguments = syn::punctuated::Punctuated<syn::Expr, syn::Token![,]>;
        if let Ok(arguments) = item.parse_body_with(Arguments::parse_terminated) {
            // The arguments parsed here do not live as long as the file.
            let mut inner = ModuleReader { path: self.path, module: &mut *self.module };
            arguments.iter().for_each(|argument| inner.visit_expr(argument));
        }
    }
}

/// Returns true if a reader is limited by `take` in the same expression.
fn is_limited(reader: &syn::Expr) -> bool {
    match reader {
        syn::Expr::MethodCall(call) => (call.method == "take" && call.args.len() == 1) || is_limited(&call.receiver),
        syn::Expr::Try(tried) => is_limited(&tried.expr),
        syn::Expr::Paren(inner) => is_limited(&inner.expr),
        _ => false,
    }
}

/// Resolves a path written in a module: returns the defining module, and the name.
fn find_target<'a>(
    house: &'a CrateModules,
    at: &PathSegments,
    written: &[String],
) -> Option<(&'a PathSegments, String)> {
    let mut path = written.to_vec();
    let reader = &house[at];
    for _ in 0..LONGEST_CHAIN {
        if path.first().map(String::as_str) != Some("crate") {
            let first = path.first()?;
            path = match (reader.names.get(first), reader.defined.contains(first)) {
                (Some(known), _) => [known, &path[1..]].concat(),
                (None, true) => [at, &path[..]].concat(),
                (None, false) => return None,
            };
            if path.first().map(String::as_str) != Some("crate") {
                return None;
            }
        }
        let depth = (1..=path.len()).rev().find(|depth| house.contains_key(&path[..*depth]))?;
        let (found, module) = house.get_key_value(&path[..depth])?;
        let name = path.get(depth)?;
        if module.defined.contains(name) {
            return Some((found, name.clone()));
        }
        let through_glob =
            module.globs.iter().find(|from| house.get(*from).is_some_and(|there| there.defined.contains(name)));
        path = match (module.names.get(name), through_glob) {
            (Some(known), _) => [known, &path[depth + 1..]].concat(),
            (None, Some(from)) => [from, &path[depth..]].concat(),
            (None, None) => return Some((found, name.clone())),
        };
    }
    None
}

/// Returns every name that one module takes from another.
fn taken_names(house: &CrateModules) -> BTreeSet<(&PathSegments, &PathSegments, String)> {
    let mut all = BTreeSet::new();
    for (at, module) in house {
        let found = module.paths.iter().filter_map(|path| find_target(house, at, path));
        all.extend(found.filter(|(to, _)| *to != at).map(|(to, name)| (at, to, name)));
        let globs = module.globs.iter().filter_map(|from| house.get_key_value(from));
        all.extend(globs.filter(|(to, _)| *to != at).map(|(to, _)| (at, to, "*".to_owned())));
    }
    all
}

/// Describes the faults of a house.
fn list_faults(house: &CrateModules) -> Vec<String> {
    let taken = taken_names(house);
    let mut faults = Vec::new();
    let mut arrows = ModuleArrows::new();
    for (from, to, name) in &taken {
        let common = from.iter().zip(to.iter()).take_while(|(one, other)| one == other).count();
        if common == from.len() || common == to.len() {
            continue;
        }
        let (own, other) = (&from[..=common], &to[..=common]);
        if own[..common] == ROOMS {
            faults.push(format!("{} reaches into the room of {}: {name}", from.join("::"), other.join("::")));
        }
        let sentence = format!("{} -> {}: {name}", from.join("::"), to.join("::"));
        arrows.entry(own).or_default().entry(other).or_default().push(sentence);
    }
    let reach: BTreeMap<_, _> = arrows.keys().map(|from| (*from, reached_modules(&arrows, from))).collect();
    let mut seen = BTreeSet::new();
    for (start, reached) in &reach {
        let members: BTreeSet<_> =
            reached.iter().filter(|other| reach.get(*other).is_some_and(|back| back.contains(start))).collect();
        if !members.contains(start) || !seen.insert(*start) {
            continue;
        }
        seen.extend(members.iter().copied());
        let mut text = format!("{} modules in a circle:", members.len());
        for from in &members {
            let inside = arrows[**from].iter().filter(|(to, _)| members.contains(to));
            inside.flat_map(|(_, sentences)| sentences).for_each(|sentence| text += &format!("\n  {sentence}"));
        }
        faults.push(text);
    }
    faults
}

/// Returns all modules that a module points to, directly or through others.
fn reached_modules<'a>(arrows: &ModuleArrows<'a>, from: &'a [String]) -> BTreeSet<&'a [String]> {
    let (mut found, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(next) = open.pop() {
        for to in arrows.get(next).into_iter().flat_map(BTreeMap::keys) {
            if found.insert(*to) {
                open.push(to);
            }
        }
    }
    found
}

/// Makes a house of modules and their texts.
#[cfg(test)]
pub fn house_of(modules: &[(&str, &str)]) -> CrateModules {
    let mut house = CrateModules::new();
    for (path, text) in modules {
        let path: PathSegments = path.split("::").map(str::to_owned).collect();
        let mut module = ModuleUses::default();
        ModuleReader { path: &path, module: &mut module }.read_items(&syn::parse_file(text).unwrap().items);
        house.insert(path, module);
    }
    house
}

#[cfg(test)]
mod tests {
    use super::*;

    fn house(modules: &[(&str, &str)]) -> Vec<String> {
        list_faults(&house_of(modules))
    }

    #[test]
    fn two_modules_that_use_types_of_each_other_are_found() {
        let found = house(&[
            ("crate", "mod a; mod b;"),
            ("crate::a", "use crate::b::B; pub struct A(B);"),
            ("crate::b", "use super::a; pub enum B { One(Box<a::A>) }"),
        ]);
        assert_eq!(found, ["2 modules in a circle:\n  crate::a -> crate::b: B\n  crate::b -> crate::a: A"]);
    }

    #[test]
    fn a_circle_through_a_re_export_a_child_or_a_macro_is_found() {
        let through = house(&[
            ("crate", "mod a; mod b; pub use b::B;"),
            ("crate::a", "pub struct A(crate::B);"),
            ("crate::b", "use crate::a::A; pub struct B(Vec<A>);"),
        ]);
        assert!(through[0].contains("crate::a -> crate::b: B"), "{through:?}");
        let child = house(&[
            ("crate", "mod a; mod b;"),
            ("crate::a", "mod inner; pub struct A;"),
            ("crate::a::inner", "fn of() -> super::super::b::B { crate::b::B }"),
            ("crate::b", "pub struct B; fn a() -> crate::a::A { crate::a::A }"),
        ]);
        assert_eq!(child.len(), 1, "{child:?}");
        let macros = house(&[
            ("crate", "mod a; mod b;"),
            ("crate::a", "pub fn a() { println!(\"{}\", crate::b::b()) }"),
            ("crate::b", "pub fn b() -> u8 { crate::a::a(); 0 }"),
        ]);
        assert_eq!(macros.len(), 1, "{macros:?}");
    }

    #[test]
    fn children_may_use_what_their_parent_defines() {
        let found = house(&[
            ("crate", "mod a;"),
            (
                "crate::a",
                "mod b; pub struct A; fn of() -> b::B { b::of(A) } #[cfg(test)] mod tests { use super::b::of; }",
            ),
            ("crate::a::b", "pub struct B(super::A); pub fn of(a: super::A) -> B { B(a) }"),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn a_command_that_uses_another_is_found() {
        let found = house(&[
            ("crate", "mod commands;"),
            ("crate::commands", "mod links; mod survey; fn all() { links::run(); survey::run(); }"),
            ("crate::commands::links", "pub fn run() { crate::commands::survey::run(); }"),
            ("crate::commands::survey", "pub fn run() {}"),
        ]);
        assert_eq!(found, ["crate::commands::links reaches into the room of crate::commands::survey: run"]);
    }
}
