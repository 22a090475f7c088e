/**
 * EC2 instance types that can run CML: bare metal of x86_64, and the families with nested virtualization. Prices are list prices for
 * Linux, on demand, in us-east-1; other regions differ. m5zn.metal has the price of m5zn.12xlarge, which is the same machine. A few
 * metal types of half a machine are listed 10 % above the virtual machine of their size.
 */
export const PRICES_AS_OF = '2026-01-19'

/** Amazon EBS gp3, the volume type of LCM, in us-east-1. */
export const DISK_USD_PER_GB_MONTH = 0.08

export interface InstanceType {
  readonly vcpus: number
  readonly memory_gb: number
  readonly cost_per_hour_usd: number
}

/** Name, vCPUs, memory in GiB, USD per hour. */
const ROWS = `
c5.metal 96 192 4.08
c5d.metal 96 192 4.608
c5n.metal 72 192 3.888
c6a.metal 192 384 7.344
c6i.metal 128 256 5.44
c6id.metal 128 256 6.4512
c6in.metal 128 256 7.2576
c7a.metal-48xl 192 384 9.85344
c7i.metal-24xl 96 192 4.7124
c7i.metal-48xl 192 384 8.568
c8a.metal-24xl 96 192 5.69026
c8a.metal-48xl 192 384 10.34592
c8i.metal-48xl 192 384 9.89578
c8i.metal-96xl 384 768 17.99232
g4dn.metal 96 384 7.824
i3.metal 72 512 4.992
i3en.metal 96 768 10.848
i4i.metal 128 1024 10.982
i7i.metal-24xl 96 768 9.6204
i7i.metal-48xl 192 1536 19.2408
i7ie.metal-24xl 96 768 13.2844
i7ie.metal-48xl 192 1536 26.5687
m5.metal 96 384 4.608
m5d.metal 96 384 5.424
m5dn.metal 96 384 6.528
m5n.metal 96 384 5.712
m5zn.metal 48 192 3.9641
m6a.metal 192 768 8.2944
m6i.metal 128 512 6.144
m6id.metal 128 512 7.5936
m6idn.metal 128 512 10.18368
m6in.metal 128 512 8.91072
m7a.metal-48xl 192 768 11.12832
m7i.metal-24xl 96 384 5.32224
m7i.metal-48xl 192 768 9.6768
m8a.metal-24xl 96 384 6.42682
m8a.metal-48xl 192 768 11.68512
m8i.metal-48xl 192 768 10.16064
m8i.metal-96xl 384 1536 20.32128
r5.metal 96 768 6.048
r5b.metal 96 768 7.8672
r5d.metal 96 768 6.912
r5dn.metal 96 768 8.016
r5n.metal 96 768 7.152
r6a.metal 192 1536 10.8864
r6i.metal 128 1024 8.064
r6id.metal 128 1024 9.6768
r6idn.metal 128 1024 12.50496
r6in.metal 128 1024 11.15712
r7a.metal-48xl 192 1536 14.6064
r7i.metal-24xl 96 768 6.98544
r7i.metal-48xl 192 1536 12.7008
r7iz.metal-16xl 64 512 6.5472
r7iz.metal-32xl 128 1024 13.0944
r8a.metal-24xl 96 768 8.43533
r8a.metal-48xl 192 1536 15.33696
r8i.metal-48xl 192 1536 14.66995
r8i.metal-96xl 384 3072 26.67264
x2idn.metal 128 2048 13.338
x2iedn.metal 128 4096 26.676
x2iezn.metal 48 1536 10.008
x8i.metal-48xl 192 3072 23.10845
x8i.metal-96xl 384 6144 48.74438
z1d.metal 48 384 4.464
c8i.xlarge 4 8 0.18742
c8i.2xlarge 8 16 0.37484
c8i.4xlarge 16 32 0.74968
c8i.8xlarge 32 64 1.49936
c8i.12xlarge 48 96 2.24904
c8i.16xlarge 64 128 2.99872
c8i.24xlarge 96 192 4.49808
c8i.32xlarge 128 256 5.99744
c8i.48xlarge 192 384 8.99616
c8i.96xlarge 384 768 17.99232
c8i-flex.xlarge 4 8 0.17804
c8i-flex.2xlarge 8 16 0.35608
c8i-flex.4xlarge 16 32 0.71216
c8i-flex.8xlarge 32 64 1.42432
c8i-flex.12xlarge 48 96 2.13648
c8i-flex.16xlarge 64 128 2.84864
m8i.xlarge 4 16 0.21168
m8i.2xlarge 8 32 0.42336
m8i.4xlarge 16 64 0.84672
m8i.8xlarge 32 128 1.69344
m8i.12xlarge 48 192 2.54016
m8i.16xlarge 64 256 3.38688
m8i.24xlarge 96 384 5.08032
m8i.32xlarge 128 512 6.77376
m8i.48xlarge 192 768 10.16064
m8i.96xlarge 384 1536 20.32128
m8i-flex.xlarge 4 16 0.2011
m8i-flex.2xlarge 8 32 0.4022
m8i-flex.4xlarge 16 64 0.8044
m8i-flex.8xlarge 32 128 1.6088
m8i-flex.12xlarge 48 192 2.4132
m8i-flex.16xlarge 64 256 3.2176
r8i.xlarge 4 32 0.27784
r8i.2xlarge 8 64 0.55568
r8i.4xlarge 16 128 1.11136
r8i.8xlarge 32 256 2.22272
r8i.12xlarge 48 384 3.33408
r8i.16xlarge 64 512 4.44544
r8i.24xlarge 96 768 6.66816
r8i.32xlarge 128 1024 8.89088
r8i.48xlarge 192 1536 13.33632
r8i.96xlarge 384 3072 26.67264
r8i-flex.xlarge 4 32 0.26394
r8i-flex.2xlarge 8 64 0.52788
r8i-flex.4xlarge 16 128 1.05576
r8i-flex.8xlarge 32 256 2.11152
r8i-flex.12xlarge 48 384 3.16728
r8i-flex.16xlarge 64 512 4.22304
`

export const INSTANCE_TYPES: ReadonlyMap<string, InstanceType> = new Map(
  ROWS.trim()
    .split('\n')
    .map(row => {
      const [name = '', ...figures] = row.split(' ')
      const [vcpus = 0, memory_gb = 0, cost_per_hour_usd = 0] = figures.map(Number)
      return [name, { vcpus, memory_gb, cost_per_hour_usd }]
    }),
)
