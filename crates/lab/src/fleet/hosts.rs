//! Files of hosts for ssh: one host a line, `[user@]host[:port] [rack=NAME]`; `n[0-3,7]` stands for several; `#` begins a comment.
//! An address of IPv6 is a host; with a port it stands in brackets: `[fe80::1%eth0]:22`.

use std::collections::BTreeSet;
use std::net::Ipv6Addr;

use corewise_model::fleet::visit_report::check_rack_name;

use super::error::FleetError;
use super::job::is_node_name;

/// Maximum number of hosts in a file.
const MOST_HOSTS: usize = 100_000;

/// A host that is reached by ssh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshHost {
    /// Name of the node in results: the host, with the port if another line has the same host.
    pub name: String,
    /// Host as ssh takes it.
    pub host: String,
    /// User there, if ssh's settings shall not choose.
    pub user: Option<String>,
    /// Port, if ssh's settings shall not choose.
    pub port: Option<u16>,
    /// Its rack, if known.
    pub rack: Option<String>,
}

/// Reads the text of a hosts file.
///
/// # Errors
/// [`FleetError::HostsLine`] for the first line that cannot be read; [`FleetError::NoNodes`] if there is no host.
pub fn parse_hosts(text: &str) -> Result<Vec<SshHost>, FleetError> {
    let mut hosts = Vec::new();
    let mut names = BTreeSet::new();
    for (index, line) in text.lines().enumerate() {
        let wrong = |why| FleetError::HostsLine { line: index + 1, why };
        for mut host in parse_line(line).map_err(wrong)? {
            if names.contains(&host.name) {
                host.name = host.port.map_or_else(|| host.name.clone(), |port| format!("{}-{port}", host.name));
            }
            if !names.insert(host.name.clone()) {
                return Err(wrong(format!("{} is listed twice", host.name)));
            }
            hosts.push(host);
        }
        if hosts.len() > MOST_HOSTS {
            return Err(wrong(format!("more than {MOST_HOSTS} hosts")));
        }
    }
    match hosts.is_empty() {
        true => Err(FleetError::NoNodes("the file has no hosts".to_owned())),
        false => Ok(hosts),
    }
}

fn parse_line(line: &str) -> Result<Vec<SshHost>, String> {
    let line = line.split('#').next().unwrap_or_default();
    let mut words = line.split_whitespace();
    let Some(address) = words.next() else { return Ok(Vec::new()) };
    let mut rack = None;
    for word in words {
        match word.strip_prefix("rack=") {
            Some(name) => {
                check_rack_name(name)?;
                rack = Some(name.to_owned());
            }
            _ => return Err(format!("\"{word}\" is not rack=NAME")),
        }
    }
    let (user, host) = address.split_once('@').map_or((None, address), |(user, host)| (Some(user), host));
    if let Some(user) = user.filter(|user| !is_node_name(user)) {
        return Err(format!("\"{user}\" is no user's name"));
    }
    let (address, after) = split_address(host);
    let (hosts, port) = match address {
        Some(address) => (vec![address.to_owned()], after),
        None => {
            let (host, port) = host.split_once(':').map_or((host, None), |(host, port)| (host, Some(port)));
            (expand_names(host)?, port)
        }
    };
    let port = port.map(|port| port.parse::<u16>().map_err(|_| format!("\"{port}\" is no port"))).transpose()?;
    let named = |host: String| {
        let name = if address.is_some() { name_address(&host) } else { host.clone() };
        match is_node_name(&name) {
            true => Ok(SshHost { host, name, user: user.map(str::to_owned), port, rack: rack.clone() }),
            false => Err(format!("\"{name}\" is no host's name")),
        }
    };
    hosts.into_iter().map(named).collect()
}

/// Splits an address of IPv6, with brackets or without, from the port after the brackets; `None` for anything else.
fn split_address(text: &str) -> (Option<&str>, Option<&str>) {
    let is_address = |text: &&str| {
        let (address, zone) = text.split_once('%').unwrap_or((text, "lo"));
        address.parse::<Ipv6Addr>().is_ok() && is_node_name(zone)
    };
    let bracketed = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    match bracketed {
        Some((address, "")) => (Some(address).filter(is_address), None),
        Some((address, after)) => {
            (Some(address).filter(|address| is_address(address) && after.starts_with(':')), after.strip_prefix(':'))
        }
        None => (Some(text).filter(is_address), None),
    }
}

/// Returns the node's name of an address, which is part of file names: "ipv6-fe80--1" for `fe80::1`.
fn name_address(address: &str) -> String {
    format!("ipv6-{}", address.replace([':', '%'], "-"))
}

/// Returns the names of a list such as "n[0-3],m1"; an error says what is wrong with it.
pub(super) fn expand_list(text: &str) -> Result<Vec<String>, String> {
    let mut depth = 0;
    let parts = text.split(|c| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ',' && depth == 0
    });
    let names: Vec<Vec<String>> = parts.map(|part| expand_names(part.trim())).collect::<Result<_, _>>()?;
    Ok(names.concat())
}

/// Returns the names that a text with ranges in brackets stands for: "n[08-10]" is n08, n09 and n10.
fn expand_names(text: &str) -> Result<Vec<String>, String> {
    let Some((before, rest)) = text.split_once('[') else { return Ok(vec![text.to_owned()]) };
    let (ranges, after) = rest.split_once(']').ok_or_else(|| format!("\"{text}\" has no closing bracket"))?;
    let after = expand_names(after)?;
    let mut names = Vec::new();
    for range in ranges.split(',') {
        for number in expand_range(range).ok_or_else(|| format!("\"{range}\" is no range of numbers"))? {
            names.extend(after.iter().map(|after| format!("{before}{number}{after}")));
            if names.len() > MOST_HOSTS {
                return Err(format!("\"{text}\" stands for more than {MOST_HOSTS} hosts"));
            }
        }
    }
    Ok(names)
}

/// Returns the numbers of a range, each with as many digits as its first has.
fn expand_range(range: &str) -> Option<impl Iterator<Item = String>> {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let is_number = |text: &str| (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let (digits, from, to) = (first.len(), first.parse::<u32>(), last.parse::<u32>());
    let (from, to) = (from.ok()?, to.ok()?);
    (is_number(first) && is_number(last) && from <= to).then(|| (from..=to).map(move |n| format!("{n:0digits$}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        parse_hosts(text).unwrap().into_iter().map(|host| host.name).collect()
    }

    #[test]
    fn ranges_keep_their_digits_and_combine() {
        assert_eq!(names("n[0-2,7]"), ["n0", "n1", "n2", "n7"]);
        assert_eq!(names("r[1-2]n[09-10].site"), ["r1n09.site", "r1n10.site", "r2n09.site", "r2n10.site"]);
    }

    #[test]
    fn a_line_has_a_user_a_port_and_a_rack() {
        let hosts = parse_hosts("# all\n\nalice@big:2222 rack=A1 # new\nsmall\n").unwrap();
        let big = SshHost {
            name: "big".into(),
            host: "big".into(),
            user: Some("alice".into()),
            port: Some(2222),
            rack: Some("A1".into()),
        };
        let small = SshHost { name: "small".into(), host: "small".into(), user: None, port: None, rack: None };
        assert_eq!(hosts, [big, small]);
        assert_eq!(names("one\none:23\n"), ["one", "one-23"], "several daemons of a host");
    }

    #[test]
    fn addresses_of_ipv6_are_hosts_whose_names_fit_into_file_names() {
        let hosts = parse_hosts("::1 rack=A\nroot@[::1]:2222\n[fe80::1%eth0]\n").unwrap();
        let shown: Vec<(&str, &str, Option<u16>)> =
            hosts.iter().map(|host| (host.name.as_str(), host.host.as_str(), host.port)).collect();
        let expected = [
            ("ipv6---1", "::1", None),
            ("ipv6---1-2222", "::1", Some(2222)),
            ("ipv6-fe80--1-eth0", "fe80::1%eth0", None),
        ];
        assert_eq!(shown, expected);
        for line in ["[::1]x", "[::1]:port", "::1%-x", "1::2::3", "[::1"] {
            assert!(parse_hosts(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_line_that_could_be_an_option_or_a_path_is_refused_with_its_number() {
        for line in [
            "-oProxyCommand=x",
            "a/b",
            "a b",
            "n[3-1]",
            "n[1-2",
            "n[0-999999]",
            "a:b",
            "-l@host",
            "rack=",
            "a rack=",
            "a rack=b/c",
            "x\nx",
            "n[a-b]",
        ] {
            let error = parse_hosts(&format!("# hosts\n{line}")).unwrap_err().to_string();
            assert!(error.starts_with(if line == "x\nx" { "line 3: " } else { "line 2: " }), "{line}: {error}");
        }
        assert!(matches!(parse_hosts("# none"), Err(FleetError::NoNodes(_))));
    }
}
