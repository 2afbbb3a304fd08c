//! The login: how the user is recognized, and what of the password leaves this machine for it.

use super::{
    Error,
    bits::can,
    key,
    packets::{ByteBudget, OF_LOGIN, PacketStream},
    proof,
    read::{Greeting, NONCE, Reader, refusal},
    stream::Encryption,
    write::CommonCapabilities,
};

const NATIVE: &str = "mysql_native_password";
const SHA2: &str = "caching_sha2_password";

/// Where a server is, and who we are to it.
pub(crate) struct Endpoint<'a> {
    pub(crate) host: &'a str,
    pub(crate) port: u16,
    pub(crate) user: Option<&'a str>,
    pub(crate) password: Option<&'a str>,
    pub(crate) database: &'a str,
    pub(crate) encryption: Option<&'a Encryption>,
    /// Whether a server that speaks no TLS is spoken to in the clear.
    pub(crate) may_be_plain: bool,
    /// Whether the password may be encrypted by a key that the server names and nobody checks.
    pub(crate) trusts_key: bool,
}

/// What a server of today can do.
const NEEDED: u32 = can::PROTOCOL_41 | can::SECURE_CONNECTION | can::PLUGIN_AUTH;

/// Logs in. What both sides can do, too.
pub(crate) async fn log_in(
    mut packets: PacketStream,
    way: &Endpoint<'_>,
) -> Result<(PacketStream, u32), Error> {
    let mut room = ByteBudget(OF_LOGIN);
    let greeting = Greeting::read(&packets.read(&mut room).await?)?;
    if greeting.capabilities & NEEDED != NEEDED {
        return Err(Error::odd("it is older than any that is known"));
    }
    let mut common = CommonCapabilities::of(greeting.capabilities, greeting.extended);
    let has_tls = greeting.capabilities & can::SSL != 0;
    if way.encryption.is_some() && !has_tls && !way.may_be_plain {
        return Err(Error::NoTls);
    }
    if let Some(encryption) = way.encryption.filter(|_| has_tls) {
        common.capabilities |= can::SSL;
        packets.send_next_packet(&common.ssl_request()).await?;
        packets = packets.encrypted(encryption, way.host).await?;
    }
    let plugin = if greeting.plugin == SHA2 { SHA2 } else { NATIVE };
    let mut login = LoginExchange { way, packets, room, plugin, nonce: greeting.nonce };
    let user = way.user.unwrap_or_default();
    let response = common.response(user, &login.proof(), way.database, plugin);
    login.packets.send_next_packet(&response).await?;
    login.go_on().await?;
    Ok((login.packets, common.capabilities))
}

struct LoginExchange<'a> {
    way: &'a Endpoint<'a>,
    packets: PacketStream,
    room: ByteBudget,
    plugin: &'static str,
    nonce: Vec<u8>,
}

impl LoginExchange<'_> {
    /// What proves that the password is known, and does not say it.
    fn proof(&self) -> Vec<u8> {
        let password = self.way.password.unwrap_or_default().as_bytes();
        if password.is_empty() {
            return Vec::new();
        }
        match self.plugin {
            SHA2 => proof::sha2(&self.nonce, password),
            _ => proof::native(&self.nonce, password),
        }
    }

    /// Answers until the server lets us in, or does not.
    async fn go_on(&mut self) -> Result<(), Error> {
        let mut has_switched = false;
        loop {
            let packet = self.packets.read(&mut self.room).await?;
            if let Some(said) = refusal(&packet) {
                return Err(said?);
            }
            match (packet.first(), packet.get(1)) {
                (Some(0x00), _) => return Ok(()),
                (Some(0xfe), Some(_)) if !has_switched => {
                    has_switched = true;
                    self.switch(&packet).await?;
                }
                // The proof was enough, and its word follows.
                (Some(0x01), Some(0x03)) if self.plugin == SHA2 => {}
                (Some(0x01), Some(0x04)) if self.plugin == SHA2 => self.send_password().await?,
                _ => return Err(Error::odd("it asks for what no login has")),
            }
        }
    }

    async fn switch(&mut self, packet: &[u8]) -> Result<(), Error> {
        let mut reader = Reader(packet.get(1..).unwrap_or_default());
        self.plugin = match std::str::from_utf8(reader.until_zero()) {
            Ok(SHA2) => SHA2,
            Ok(NATIVE) => NATIVE,
            other => {
                let name: String = other.unwrap_or("?").chars().take(64).collect();
                return Err(Error::Plugin(name));
            }
        };
        self.nonce = reader.0.strip_suffix(&[0]).unwrap_or(reader.0).to_vec();
        self.nonce.resize(NONCE, 0);
        let proof = self.proof();
        self.packets.send_next_packet(&proof).await
    }

    /// The password itself, which a server wants that does not remember it.
    async fn send_password(&mut self) -> Result<(), Error> {
        let mut password = self.way.password.unwrap_or_default().as_bytes().to_vec();
        password.push(0);
        if self.packets.is_encrypted() {
            return self.packets.send_next_packet(&password).await;
        }
        if !self.way.trusts_key {
            return Err(Error::Exposed);
        }
        self.packets.send_next_packet(&[0x02]).await?;
        let packet = self.packets.read(&mut self.room).await?;
        if let Some(said) = refusal(&packet) {
            return Err(said?);
        }
        for (byte, mask) in password.iter_mut().zip(self.nonce.iter().cycle()) {
            *byte ^= mask;
        }
        let encrypted = key::encrypt(&password, packet.get(1..).unwrap_or_default())?;
        self.packets.send_next_packet(&encrypted).await
    }
}
