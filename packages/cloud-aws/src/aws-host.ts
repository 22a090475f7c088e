/** Where a service is in a region. China has a domain of its own. */
export const awsHost = (service: string, region: string): string =>
  `${service}.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`
