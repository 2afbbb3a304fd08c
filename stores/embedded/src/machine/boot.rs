//! Which boot of the machine this is. Leases end with it: their deadlines are counted from it.

use tenure_core::{Fault, FaultKind};

/// The identity of this boot, the same for all processes and containers of the machine.
pub(crate) fn id() -> Result<[u8; 16], Fault> {
    check_time_namespace()?;
    let text = read_id()?;
    parse(&text).ok_or_else(|| unknown(format!("the system calls this boot {:?}", text.trim())))
}

#[cfg(target_os = "linux")]
fn read_id() -> Result<String, Fault> {
    const PATH: &str = "/proc/sys/kernel/random/boot_id";
    std::fs::read_to_string(PATH)
        .map_err(|error| unknown(format!("cannot read {PATH}")).because(error))
}

#[cfg(target_vendor = "apple")]
fn read_id() -> Result<String, Fault> {
    let output = std::process::Command::new("/usr/sbin/sysctl")
        .args(["-n", "kern.bootsessionuuid"])
        .output()
        .map_err(|error| unknown("cannot run sysctl".to_owned()).because(error))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A time namespace of its own has another clock since boot than the processes outside of it, so
/// their deadlines would not compare.
#[cfg(target_os = "linux")]
fn check_time_namespace() -> Result<(), Fault> {
    // Kernels without time namespaces do not have the file.
    let offsets = std::fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
    let shifted = offsets.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some("boottime") && words.any(|offset| offset != "0")
    });
    if shifted {
        return Err(Fault::new(
            FaultKind::Misconfigured,
            "this process runs in a time namespace whose clock since boot is shifted",
            "run it in the machine's own time namespace, where its deadlines compare with others'",
        ));
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn own_time_namespace() -> Result<(), Fault> {
    Ok(())
}

fn parse(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.trim().chars().filter(|c| *c != '-').collect();
    if digits.len() != 32 || !digits.is_ascii() {
        return None;
    }
    u128::from_str_radix(&digits, 16).ok().map(u128::to_be_bytes)
}

fn unknown(what: String) -> Fault {
    Fault::new(
        FaultKind::Misconfigured,
        format!("cannot tell which boot of the machine this is: {what}"),
        "mount /proc, or use a store with a server",
    )
}
