// A self-signed certificate for 127.0.0.1 and localhost, for tests only: nobody should trust it, and that is the point.

/** The certificate's private key, PEM. */
export const TEST_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgvD+7Bf/rHabZiJ5O
VJFxM4fxl/PHcsqHxkd89DNSGEWhRANCAATaChoBy1DQPtxwVGgNtrUTd7+DL82X
iH4QMEUcyj7W3OewYdB2q6KvVfRSgM62UdMbwExMpRyHnHwzfx+0zCPT
-----END PRIVATE KEY-----
`;

/** The certificate, PEM; NODE_EXTRA_CA_CERTS can be pointed at a file with it. */
export const TEST_CERT = `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUGZAK1IrkDdYBu4cvCy32yfLwoyIwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTEzNTI1MloYDzIxMjYxMDI4
MTM1MjUyWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATaChoBy1DQPtxwVGgNtrUTd7+DL82XiH4QMEUcyj7W3OewYdB2q6Kv
VfRSgM62UdMbwExMpRyHnHwzfx+0zCPTo28wbTAdBgNVHQ4EFgQUIrMAsWzScNHY
mmRRw5fGG0XXLFIwHwYDVR0jBBgwFoAUIrMAsWzScNHYmmRRw5fGG0XXLFIwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIgXbWRpkBFmSaV3fogYyagYyjHEq+DlB42SljnFm/3O1cCIQCr
dZpOrv/rDrGIoMUnADvOuiimMu7VVpjErFez4Ua74Q==
-----END CERTIFICATE-----
`;
