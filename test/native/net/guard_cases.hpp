// URLs that a guarded request must refuse without opening a socket: special-purpose blocks and
// private names, each in the notations by which filters are known to be passed.
#pragma once

#include <array>
#include <string_view>

namespace millrace::test {

inline constexpr std::array blocked_urls{
    // One address of every IPv4 block, and both ends of some.
    "http://0.0.0.0/", "http://0.255.255.255/", "http://10.0.0.0/", "http://10.0.0.1/",
    "http://10.255.255.255/", "http://100.64.0.1/", "http://100.100.100.200/latest/meta-data/",
    "http://100.127.255.255/", "http://127.0.0.1/", "http://127.0.0.2/", "http://127.255.255.254/",
    "http://169.254.0.1/", "http://169.254.169.254/latest/meta-data/", "http://169.254.170.2/v2/",
    "http://169.254.255.255/", "http://172.16.0.1/", "http://172.31.255.255/", "http://192.0.0.1/",
    "http://192.0.0.192/opc/v2/", "http://192.0.2.1/", "http://192.31.196.1/",
    "http://192.52.193.1/", "http://192.88.99.1/", "http://192.168.0.1/", "http://192.168.255.255/",
    "http://192.175.48.1/", "http://198.18.0.1/", "http://198.19.255.255/", "http://198.51.100.7/",
    "http://203.0.113.7/", "http://224.0.0.1/", "http://239.255.255.250/", "http://240.0.0.1/",
    "http://255.255.255.255/", "http://168.63.129.16/machine",
    // Decimal, octal, hexadecimal, short and mixed forms.
    "http://2130706433/", "http://017700000001/", "http://0x7f000001/", "http://0X7F000001/",
    "http://127.1/", "http://127.0.1/", "http://0177.0.0.1/", "http://0177.0.0.01/",
    "http://0x7f.0.0.1/", "http://0x7f.1/", "http://0x7f.0x0.0x0.0x1/", "http://0177.0x0.0.1/",
    "http://00000177.0.0.1/", "http://2852039166/", "http://0xa9fea9fe/", "http://025177524776/",
    "http://0xa9.0xfe.0xa9.0xfe/", "http://0251.0376.0251.0376/", "http://169.254.43518/",
    "http://169.16689662/", "http://3232235521/", "http://0xc0a80001/", "http://0300.0250.0.1/",
    "http://192.168.1/", "http://10.1/", "http://167772161/", "http://012.0.0.1/", "http://0/",
    "http://0x0/", "http://00/", "http://0.0/", "http://4294967295/", "http://0xffffffff/",
    // Numbers that are no address to some and one to others.
    "http://127.0.0.1./", "http://127.1./", "http://2130706433./", "http://0x7f000001./",
    "http://4294967297/", "http://0x17f000001/", "http://256.256.256.256/", "http://127.0.0.1.1/",
    "http://127.0.0.08/", "http://127.0.0.256/", "http://1.2.3.4.5/", "http://8.8.8.8./",
    "http://10.0.0.1../", "http://127..1/", "http://8.8.8.8.:80/", "http://8.8.8.8%2e/",
    "http://%38.8.8.8./", "http:/8.8.8.8./", "http://0177.0.0.1./", "http://./",
    // IPv6: special-purpose blocks and everything outside 2000::/3.
    "http://[::]/", "http://[::1]/", "http://[0:0:0:0:0:0:0:1]/", "http://[0000::0001]/",
    "http://[::0.0.0.1]/", "http://[64:ff9b:1::1]/", "http://[100::1]/", "http://[100:0:0:1::1]/",
    "http://[2001::1]/", "http://[2001:2::1]/", "http://[2001:3::1]/", "http://[2001:10::1]/",
    "http://[2001:20::1]/", "http://[2001:30::1]/", "http://[2001:db8::1]/",
    "http://[2620:4f:8000::1]/", "http://[3fff::1]/", "http://[3fff:fff::1]/", "http://[5f00::1]/",
    "http://[fc00::1]/", "http://[fd00::1]/", "http://[fd00:ec2::254]/latest/", "http://[fdff::1]/",
    "http://[fe80::1]/", "http://[febf::1]/", "http://[fec0::1]/", "http://[ff02::1]/",
    "http://[ff0e::1]/", "http://[4000::1]/", "http://[::2]/",
    // IPv4 inside IPv6: mapped, compatible, translated, 6to4, Teredo.
    "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[::ffff:7f00:0001]/",
    "http://[0:0:0:0:0:ffff:127.0.0.1]/", "http://[0:0:0:0:0:ffff:7f00:1]/",
    "http://[::FFFF:127.0.0.1]/", "http://[::ffff:10.0.0.1]/", "http://[::ffff:a00:1]/",
    "http://[::ffff:169.254.169.254]/", "http://[::ffff:a9fe:a9fe]/",
    "http://[::ffff:192.168.0.1]/", "http://[::ffff:0.0.0.0]/", "http://[::127.0.0.1]/",
    "http://[::7f00:1]/", "http://[::10.0.0.1]/", "http://[::8.8.8.8]/",
    "http://[::ffff:0:127.0.0.1]/", "http://[::ffff:0:8.8.8.8]/", "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/", "http://[64:ff9b::10.0.0.1]/", "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b::192.168.0.1]/", "http://[64:ff9b:1::127.0.0.1]/", "http://[2002:7f00:1::]/",
    "http://[2002:a9fe:a9fe::1]/", "http://[2002:808:808::1]/", "http://[2001:0:7f00:1::1]/",
    "http://[2001:0:4136:e378::1]/",
    // Zones.
    "http://[fe80::1%25lo]/", "http://[fe80::1%25eth0]/", "http://[::1%25lo]/", "http://[::1%251]/",
    "http://[2606:4700:4700::1111%25eth0]/", "http://[fe80::1%eth0]/",
    // Percent signs, full-width and circled digits, ideographic full stops.
    "http://%31%32%37.0.0.1/", "http://127%2e0%2e0%2e1/", "http://%6c%6f%63%61%6c%68%6f%73%74/",
    "http://127.0.0.1%00.example.com/", "http://127.0.0.1%2f@example.com/",
    "http://\xe2\x91\xa0\xe2\x91\xa1\xe2\x91\xa6.0.0.1/",
    "http://127\xe3\x80\x82"
    "0\xe3\x80\x82"
    "0\xe3\x80\x82"
    "1/",
    "http://\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1/",
    "http://127\xef\xbc\x8e"
    "0.0.1/",
    "http://loc\xef\xbd\x81lhost/", "http://\xe2\x93\x9bocalhost/", "http://local\xc2\xadhost/",
    // Names of this machine, of private networks and of metadata services.
    "http://localhost/", "http://LOCALHOST/", "http://localhost./", "http://a.localhost/",
    "http://localhost.localdomain/", "http://localhost6.localdomain6/", "http://ip6-localhost/",
    "http://ip6-loopback/", "http://metadata/", "http://metadata.google.internal/computeMetadata/",
    "http://metadata.google.internal./", "http://instance-data/latest/",
    "http://host.docker.internal/", "http://gateway.docker.internal/", "http://kubernetes/",
    "http://kubernetes.default/", "http://kubernetes.default.svc/",
    "http://kubernetes.default.svc.cluster.local/", "http://printer.local/", "http://router.lan/",
    "http://nas.home/", "http://nas.home.arpa/", "http://wiki.corp/", "http://wiki.intranet/",
    "http://db.internal/", "http://redis/",
    // Credentials and characters that make two readers see two hosts.
    "http://example.com@127.0.0.1/", "http://example.com:80@127.0.0.1/",
    "http://user:pass@10.0.0.1/", "http://127.0.0.1@example.com/", "http://@127.0.0.1/",
    "http://:@127.0.0.1/", "http://127.0.0.1\\@example.com/", "http://example.com\\@127.0.0.1/",
    "http://127.0.0.1#@example.com/", "http://127.0.0.1?@example.com/", "http://127.0.0.1:80#x/",
    "http:///127.0.0.1/", "http:////127.0.0.1/", "http://127.0.0.1:80:80/", "http:127.0.0.1/",
    "//127.0.0.1/", "http://1.1.1.1 &@127.0.0.1# @10.0.0.1/", "http://127.0.0.1\t/",
    "http://127.0.0.1\r\nHost: example.com/", "http://[::1]:80@example.com/",
    // Ports and schemes.
    "http://8.8.8.8:22/", "http://8.8.8.8:25/", "http://8.8.8.8:6379/", "http://example.com:11211/",
    "http://example.com:0/", "http://127.0.0.1:443/", "http://127.0.0.1:8080/",
    "https://127.0.0.1/", "https://[::1]/", "ftp://example.com/", "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_INFO", "dict://127.0.0.1:11211/stats", "ldap://example.com/",
    "tftp://example.com/x", "smb://example.com/x", "telnet://example.com/", "javascript:alert(1)",
    "data:text/plain,x", "ws://example.com/", "unix:///var/run/docker.sock", "http+unix://x/",
    "jar:http://127.0.0.1!/", "127.0.0.1", ""};

// Names whose addresses are refused, as a resolver would tell them.
struct Resolved {
  std::string_view name;
  std::string_view addresses;  // separated by blanks
};
inline constexpr std::array resolved_blocked{
    Resolved{"private.example.com", "10.0.0.1"},
    Resolved{"loop.example.com", "127.0.0.1"},
    Resolved{"loop6.example.com", "::1"},
    Resolved{"mapped.example.com", "::ffff:127.0.0.1"},
    Resolved{"nat64.example.com", "64:ff9b::a9fe:a9fe"},
    Resolved{"meta.example.com", "169.254.169.254"},
    Resolved{"linklocal.example.com", "fe80::1%eth0"},
    Resolved{"ula.example.com", "fd00::1"},
    Resolved{"mixed-last.example.com", "93.184.216.34 10.0.0.1"},
    Resolved{"mixed-first.example.com", "127.0.0.1 93.184.216.34"},
    Resolved{"mixed-kinds.example.com", "93.184.216.34 ::1"},
    Resolved{"zero.example.com", "0.0.0.0"},
    Resolved{"10.0.0.1.nip.io", "10.0.0.1"},
    Resolved{"127-0-0-1.sslip.io", "127.0.0.1"},
    Resolved{"localtest.me", "127.0.0.1"},
    Resolved{"spoofed.burpcollaborator.net", "127.0.0.1"}};

inline constexpr std::array allowed_urls{"http://93.184.216.34/",
                                         "https://93.184.216.34/a?b=http://127.0.0.1/#c",
                                         "http://1.1.1.1:443/",
                                         "https://[2606:4700:4700::1111]/",
                                         "http://[64:ff9b::8.8.8.8]/",
                                         "http://[::ffff:8.8.8.8]/",
                                         "https://example.com/",
                                         "https://EXAMPLE.com.:443/",
                                         "https://xn--bcher-kva.ch/",
                                         "http://127.0.0.1.example.com/",
                                         "http://localhost.example.com/",
                                         "http://172.15.255.255/",
                                         "http://172.32.0.1/",
                                         "http://100.63.255.255/",
                                         "http://134744072/",
                                         "http://internal.example.com/"};

}  // namespace millrace::test
