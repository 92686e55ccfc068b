// A self-signed certificate for 127.0.0.1, localhost and pets.example, for tests only: nobody should trust it, and that is the point.

/** The certificate's private key, PEM. */
export const TEST_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgvD+7Bf/rHabZiJ5O
VJFxM4fxl/PHcsqHxkd89DNSGEWhRANCAATaChoBy1DQPtxwVGgNtrUTd7+DL82X
iH4QMEUcyj7W3OewYdB2q6KvVfRSgM62UdMbwExMpRyHnHwzfx+0zCPT
-----END PRIVATE KEY-----
`;

/** The certificate, PEM; NODE_EXTRA_CA_CERTS can be pointed at a file with it. */
export const TEST_CERT = `-----BEGIN CERTIFICATE-----
MIIBdjCCARugAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABNoKGgHLUNA+3HBU
aA22tRN3v4MvzZeIfhAwRRzKPtbc57Bh0Haroq9V9FKAzrZR0xvATEylHIecfDN/
H7TMI9OjXDBaMCgGA1UdEQQhMB+CCWxvY2FsaG9zdIcEfwAAAYIMcGV0cy5leGFt
cGxlMA8GA1UdEwEB/wQFMAMBAf8wHQYDVR0OBBYEFCKzALFs0nDR2JpkUcOXxhtF
1yxSMAoGCCqGSM49BAMCA0kAMEYCIQCXwDx3gfFaejrkgUFSm9hePD1MPdJImQGJ
JO0HmIRmRgIhAMBU3odqbkssqibf5qtBcvyDG6odQJGeRaX7PEnjxF1y
-----END CERTIFICATE-----
`;
