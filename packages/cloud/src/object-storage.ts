/** Reads objects from buckets. */
export interface Objects {
  /**
   * Reads the whole object. Rejects with a CloudError, of class `invalid` also when it is larger than `bytesMax`; or
   * with the signal's reason.
   */
  read(place: ObjectLocation, bytesMax: number, signal: AbortSignal): Promise<Buffer>
}

export interface ObjectLocation {
  readonly bucket: string
  readonly key: string
}

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
const KEY_BYTES_MAX = 1024

const isDots = (segment: string): boolean => segment === '.' || segment === '..'

/** Parses `s3://bucket/key`; null when it is invalid. The key is used as written. */
export function parseS3Address(address: string): ObjectLocation | null {
  const [, bucket = '', key = ''] = /^s3:\/\/([^/]*)\/(.+)$/s.exec(address) ?? []
  // HTTP clients remove segments of dots from a path, which would name another object.
  const isKey = key !== '' && Buffer.byteLength(key) <= KEY_BYTES_MAX && !key.split('/').some(isDots)
  return BUCKET.test(bucket) && !bucket.includes('..') && isKey ? { bucket, key } : null
}
