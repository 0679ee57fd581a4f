//! TLS 1.3 with nothing but Ed25519 keys: both sides present a raw public key (RFC 7250) and prove that they hold its
//! secret half.

use crate::PeerId;
use crate::sign::{Ed25519, Signer as _};
use rustls::client::AlwaysResolvesClientRawPublicKeys;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, NoServerSessionStorage};
use rustls::sign::CertifiedKey;
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, PeerIncompatible,
    SignatureScheme,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// This peer's key in the form that rustls asks for, and the cryptography that it is used with.
#[derive(Clone)]
pub struct OwnKey {
    key: Arc<CertifiedKey>,
    provider: Arc<CryptoProvider>,
}

impl OwnKey {
    /// The key of this secret.
    pub fn new(secret: &[u8; 32]) -> OwnKey {
        OwnKey::with_provider(secret, rustls::crypto::ring::default_provider())
    }

    /// The same with another source of randomness, for runs that must be repeatable.
    pub fn with_provider(secret: &[u8; 32], provider: CryptoProvider) -> OwnKey {
        let pkcs8 = [&PKCS8_PREFIX[..], secret].concat();
        let key = rustls::crypto::ring::sign::any_eddsa_type(&PrivatePkcs8KeyDer::from(pkcs8))
            .expect("every 32 bytes are an Ed25519 secret");
        let spki = [&SPKI_PREFIX[..], &Ed25519::new(secret).id().0].concat();
        OwnKey {
            key: Arc::new(CertifiedKey::new(vec![CertificateDer::from(spki)], key)),
            provider: Arc::new(provider),
        }
    }
}

/// How links are accepted: from any peer that proves to hold the key that it shows.
pub fn accepting(own: &OwnKey) -> rustls::ServerConfig {
    let mut config = rustls::ServerConfig::builder_with_provider(own.provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("the provider knows TLS 1.3")
        .with_client_cert_verifier(Arc::new(AnyKey))
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(
            own.key.clone(),
        )));
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.max_early_data_size = 0;
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config
}

/// How a link to `key` is dialled. The flag becomes true once another key has answered.
pub fn dialling(own: &OwnKey, key: PeerId) -> (rustls::ClientConfig, Arc<AtomicBool>) {
    let wrong_key = Arc::new(AtomicBool::new(false));
    let mut config = rustls::ClientConfig::builder_with_provider(own.provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("the provider knows TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(OneKey {
            key,
            wrong_key: wrong_key.clone(),
        }))
        .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(
            own.key.clone(),
        )));
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.enable_sni = false;
    config.enable_early_data = false;
    config.resumption = Resumption::disabled();
    (config, wrong_key)
}

/// The key within a SubjectPublicKeyInfo, if that is a well-formed Ed25519 one.
pub(super) fn key_of(spki: &[u8]) -> Option<PeerId> {
    let key = spki.strip_prefix(&SPKI_PREFIX[..])?;
    Some(PeerId(key.try_into().ok()?))
}

/// Accepts any Ed25519 key: the session decides about its owner.
#[derive(Debug)]
struct AnyKey;

/// Accepts one key.
#[derive(Debug)]
struct OneKey {
    key: PeerId,
    wrong_key: Arc<AtomicBool>,
}

impl ClientCertVerifier for AnyKey {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        shown_key(end_entity, intermediates)?;
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(OLDER_TLS)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ServerCertVerifier for OneKey {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if shown_key(end_entity, intermediates)? == self.key {
            Ok(ServerCertVerified::assertion())
        } else {
            self.wrong_key.store(true, Ordering::Relaxed);
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(OLDER_TLS)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

fn shown_key(
    end_entity: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
) -> Result<PeerId, Error> {
    match key_of(end_entity) {
        Some(key) if intermediates.is_empty() => Ok(key),
        _ => Err(CertificateError::BadEncoding.into()),
    }
}

fn verify_signature(
    message: &[u8],
    cert: &CertificateDer<'_>,
    dss: &DigitallySignedStruct,
) -> Result<HandshakeSignatureValid, Error> {
    let key = key_of(cert).ok_or(CertificateError::BadEncoding)?;
    match <&[u8; 64]>::try_from(dss.signature()) {
        Ok(signature)
            if dss.scheme == SignatureScheme::ED25519
                && Ed25519::verify(key, message, signature) =>
        {
            Ok(HandshakeSignatureValid::assertion())
        }
        _ => Err(CertificateError::BadSignature.into()),
    }
}

/// QUIC has no use for a signature of an older version.
const OLDER_TLS: Error = Error::PeerIncompatible(PeerIncompatible::Tls13RequiredForQuic);

/// Names the transport's own rules: framing, streams and the welcome.
const ALPN: &[u8] = b"lockstep/1";

/// DER of a SubjectPublicKeyInfo for Ed25519 (RFC 8410) up to the key's 32 bytes.
const SPKI_PREFIX: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];

/// DER of a PKCS #8 private key for Ed25519 (RFC 8410) up to the secret's 32 bytes.
const PKCS8_PREFIX: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_ed25519_key_is_read() {
        let own = OwnKey::new(&[7; 32]);
        let spki = own.key.cert[0].to_vec();
        assert_eq!(key_of(&spki), Some(Ed25519::new(&[7; 32]).id()));
        for len in 0..spki.len() {
            assert_eq!(key_of(&spki[..len]), None, "cut to {len} bytes");
        }
        assert_eq!(key_of(&[&spki[..], &[0]].concat()), None);
        for bit in 0..SPKI_PREFIX.len() * 8 {
            let mut other = spki.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(key_of(&other), None, "bit {bit} flipped");
        }
    }
}
