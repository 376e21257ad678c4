//! The interface of the library, compared with a list: a change of it is seen, and meant.
//!
//! `COREWISE_WRITE_INTERFACE=1 cargo test -p corewise --test interface` writes the list.

use std::path::{Path, PathBuf};

use quote::ToTokens;
use syn::{Fields, ImplItem, Item, Visibility};

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Returns tokens as text with a space between all.
fn text_of(tokens: &impl ToTokens) -> String {
    tokens.to_token_stream().to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the names that `lib.rs` exports.
fn exported_names(file: &syn::File) -> Vec<String> {
    fn collect(tree: &syn::UseTree, names: &mut Vec<String>) {
        match tree {
            syn::UseTree::Path(path) => collect(&path.tree, names),
            syn::UseTree::Name(name) => names.push(name.ident.to_string()),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| collect(tree, names)),
            syn::UseTree::Rename(_) | syn::UseTree::Glob(_) => panic!("exports have one name, written out"),
        }
    }
    let mut names = Vec::new();
    for item in &file.items {
        if let Item::Use(exported) = item
            && is_public(&exported.vis)
        {
            collect(&exported.tree, &mut names);
        }
    }
    names
}

/// Appends the lines of a file's exported items and their public methods.
fn describe_items(file: &syn::File, exported: &[String], lines: &mut Vec<String>) {
    let is_exported = |name: &syn::Ident| exported.contains(&name.to_string());
    for item in &file.items {
        match item {
            Item::Struct(item) if is_exported(&item.ident) => {
                let fields = match &item.fields {
                    Fields::Named(fields) => fields.named.iter().filter(|field| is_public(&field.vis)).collect(),
                    _ => Vec::new(),
                };
                lines.push(format!("struct {}", item.ident));
                lines.extend(fields.iter().map(|field| {
                    let name = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
                    format!("struct {}: {name}: {}", item.ident, text_of(&field.ty))
                }));
            }
            Item::Enum(item) if is_exported(&item.ident) => {
                let variant = |variant: &syn::Variant| {
                    format!("enum {}: {} {}", item.ident, variant.ident, text_of(&without_comments(&variant.fields)))
                };
                lines.extend(item.variants.iter().map(variant));
            }
            Item::Fn(item) if is_exported(&item.sig.ident) => lines.push(text_of(&item.sig)),
            Item::Impl(item) => {
                let owner = text_of(&item.self_ty);
                if !exported.contains(&owner) {
                    continue;
                }
                match &item.trait_ {
                    Some((path, _)) => lines.push(format!("impl {} for {owner}", text_of(path))),
                    None => lines.extend(item.items.iter().filter_map(|item| match item {
                        ImplItem::Fn(method) if is_public(&method.vis) => {
                            Some(format!("{owner}: {}", text_of(&method.sig)))
                        }
                        _ => None,
                    })),
                }
            }
            _ => {}
        }
    }
}

fn without_comments(fields: &Fields) -> Fields {
    let mut fields = fields.clone();
    fields.iter_mut().for_each(|field| field.attrs.clear());
    fields
}

fn source_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().filter(|file| file.extension().is_some_and(|end| end == "rs")).collect()
}

#[test]
fn the_interface_is_the_one_that_was_meant() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let parse = |file: &Path| syn::parse_file(&std::fs::read_to_string(file).unwrap()).unwrap();
    let exported = exported_names(&parse(&home.join("src/lib.rs")));
    let mut lines: Vec<String> = exported.iter().map(|name| format!("use {name}")).collect();
    source_files(&home.join("src")).iter().for_each(|file| describe_items(&parse(file), &exported, &mut lines));
    lines.sort();
    let found = lines.join("\n") + "\n";
    let list = home.join("interface.txt");
    if std::env::var_os("COREWISE_WRITE_INTERFACE").is_some() {
        return std::fs::write(list, found).unwrap();
    }
    let meant = std::fs::read_to_string(&list).unwrap_or_default().replace("\r\n", "\n");
    let new: Vec<&str> = found.lines().filter(|line| !meant.lines().any(|known| known == *line)).collect();
    let gone: Vec<&str> = meant.lines().filter(|line| !found.lines().any(|known| known == *line)).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "new: {new:#?}\ngone: {gone:#?}\nIf this is meant: COREWISE_WRITE_INTERFACE=1 cargo test -p corewise --test interface, and a line in CHANGELOG.md"
    );
}
