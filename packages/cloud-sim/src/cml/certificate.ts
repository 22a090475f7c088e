import { createHash, generateKeyPairSync, sign } from 'node:crypto'

/** Self-signed certificate of one CML server. It survives restarts and address changes, so a pin stays valid. */
export interface CmlIdentity {
  readonly certificate_pem: string
  readonly key_pem: string
  /** Of the certificate, in lower-case hex. */
  readonly sha256: string
}

const TAG_INTEGER = 0x02
const TAG_BIT_STRING = 0x03
const TAG_OID = 0x06
const TAG_UTF8 = 0x0c
const TAG_UTC_TIME = 0x17
const TAG_SEQUENCE = 0x30
const TAG_SET = 0x31
const TAG_VERSION = 0xa0

const COMMON_NAME = Buffer.from('550403', 'hex')
const ECDSA_WITH_SHA256 = Buffer.from('2a8648ce3d040302', 'hex')
const X509_VERSION_3 = Buffer.from([2])
const SHORT_LENGTH_MAX = 127
/** X.509 encodes years from 2050 on differently, which no simulated machine needs. */
const VALID_YEARS = 10

export function selfSigned(commonName: string, validFromMs: number): CmlIdentity {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = der(TAG_SEQUENCE, der(TAG_OID, ECDSA_WITH_SHA256))
  const name = distinguishedName(commonName)
  const body = der(
    TAG_SEQUENCE,
    der(TAG_VERSION, der(TAG_INTEGER, X509_VERSION_3)),
    der(TAG_INTEGER, serialOf(commonName)),
    algorithm,
    name,
    validity(validFromMs),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
  )
  const signature = sign('sha256', body, privateKey)
  const certificate = der(TAG_SEQUENCE, body, algorithm, der(TAG_BIT_STRING, Buffer.from([0]), signature))
  return {
    certificate_pem: pem('CERTIFICATE', certificate),
    key_pem: pem('PRIVATE KEY', privateKey.export({ type: 'pkcs8', format: 'der' })),
    sha256: createHash('sha256').update(certificate).digest('hex'),
  }
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content])
}

function lengthOf(length: number): Buffer {
  if (length <= SHORT_LENGTH_MAX) return Buffer.from([length])
  const bytes = Buffer.from([length >>> 8, length & 255])
  return length < 256 ? Buffer.from([0x81, length]) : Buffer.concat([Buffer.from([0x82]), bytes])
}

const distinguishedName = (commonName: string) =>
  der(TAG_SEQUENCE, der(TAG_SET, der(TAG_SEQUENCE, der(TAG_OID, COMMON_NAME), der(TAG_UTF8, Buffer.from(commonName)))))

function validity(fromMs: number): Buffer {
  const from = new Date(fromMs)
  const until = new Date(fromMs)
  until.setUTCFullYear(until.getUTCFullYear() + VALID_YEARS)
  return der(TAG_SEQUENCE, timeOf(from), timeOf(until))
}

const timeOf = (date: Date) =>
  der(TAG_UTC_TIME, Buffer.from(`${date.toISOString().replaceAll(/[-:T]/g, '').slice(2, 14)}Z`))

/** The first byte keeps the number positive and free of a leading zero. */
const serialOf = (commonName: string) =>
  Buffer.concat([Buffer.from([1]), createHash('sha256').update(commonName).digest().subarray(0, 15)])

const pem = (label: string, content: Buffer) =>
  `-----BEGIN ${label}-----\n${(content.toString('base64').match(/.{1,64}/g) ?? []).join('\n')}\n-----END ${label}-----\n`
