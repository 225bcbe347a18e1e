"""The way to a service: proxy, name, TLS, who answers, whose clock is wrong, how far it is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from typing import Any

from haulage.doctor.asking import Answer
from haulage.doctor.finding import Finding, NotMeasuredError, by_error
from haulage.words.numbers import format_time

Ask = Callable[..., Answer]

#: Azure and S3 refuse what was signed by a clock that is further off than this.
SKEW_FAULT_S = 15 * 60.0
#: A date has no fractions, and an answer takes a while.
SKEW_WARNING_S = 30.0
#: Far, for a request a file.
FAR_S = 0.2

#: OpenSSL's numbers for why a certificate does not hold.
_NOT_YET, _EXPIRED, _HOST, _IP = 9, 10, 62, 64
_STRANGERS = {18, 19, 20, 21}

_CLOCK_HINT = (
    "set the clock: timedatectl set-ntp true, or chronyc makestep; on a virtual machine sync it with its host"
)


class Path:
    """How a URL is reached, and what was learnt on the way.

    Attributes:
        reached: Whether a storage service answered, so that asking it more makes sense.
        skew_s: How far this machine's clock is ahead of the service's; ``None`` if it is not known.
    """

    def __init__(self, way: dict[str, Any], ask: Ask, url: str, options: dict[str, Any]) -> None:
        self.way, self.ask, self.url, self.options = way, ask, url, options
        self.reached = False
        self.skew_s: float | None = None
        self._addresses: list[str] = []

    def examine(self) -> Iterator[Finding]:
        """Yield findings; each step is taken only if the one before went well."""
        yield self._proxy()
        if self.way["proxy"] is None:
            found = self._name()
            yield found
            if found.level == "fault":
                return
        yield from self._knock()

    def _proxy(self) -> Finding:
        proxy = self.way["proxy"]
        if proxy is None:
            return Finding("network.proxy", "ok", "no proxy between", values={"proxy": None})
        scheme = "https" if proxy["secure"] else "http"
        text = f"through the proxy {scheme}://{proxy['host']}:{proxy['port']} ({proxy['named_by']})"
        return Finding("network.proxy", "ok", text, values={"proxy": proxy})

    def _name(self) -> Finding:
        host, port = self.way["host"], self.way["port"]
        answer = self.ask("resolve", host=host, port=port)
        values = {"host": host}
        if answer.hung:
            hint = "the name server does not respond: check /etc/resolv.conf, and: getent hosts " + host
            text = f"the lookup of {host} {answer.error.cause.replace('no answer', 'got no answer')}"  # type: ignore[union-attr]
            return Finding("network.dns", "fault", text, hint, "connection", values)
        if answer.error is not None:
            return by_error("network.dns", answer.error)
        if not answer.value["addresses"]:
            hint = self._name_hint()
            if answer.value["temporary"]:
                hint += "; the name server did not respond: check /etc/resolv.conf"
            text = f"host not found: {host} ({answer.value['why_not']})"
            return Finding("network.dns", "fault", text, hint, "connection", values)
        addresses = self._addresses = answer.value["addresses"]
        shown = ", ".join(addresses[:4]) + (", ..." if len(addresses) > 4 else "")
        return Finding("network.dns", "ok", f"{host} is {shown}", values={**values, "addresses": addresses})

    def _name_hint(self) -> str:
        if self.way["service"] == "azure" and self.way["host"].startswith(f"{self.way['account']}."):
            return f"check the name of the account, {self.way['account']}, and the network"
        if self.way["service"] == "s3" and self.way["host"].startswith(f"{self.way['container']}."):
            return (
                "give --addressing path, if this service has no host for each bucket; or check the endpoint"
            )
        if self.way["service"] == "s3":
            return "check the endpoint, the region and the network"
        return "check the endpoint and the network"

    def _knock(self) -> Iterator[Finding]:
        answer = self.ask("knock", url=self.url, options=self.options)
        if answer.hung:
            text = f"{self.way['origin']}: {answer.error.cause}"  # type: ignore[union-attr]
            hint = "a firewall may drop the packets: ask the administrator, or use a proxy"
            yield self._only_six(Finding("network.connection", "fault", text, hint, "connection"))
            return
        if answer.error is not None:
            yield from self._why_not(answer)
            return
        knocks = answer.value
        yield from self._connected(knocks)
        yield from self._clock(knocks[0])
        yield from self._who(knocks[0])

    def _connected(self, knocks: list[dict[str, Any]]) -> Iterator[Finding]:
        first = knocks[0]
        words = [f"connected to {first['remote']}"]
        words += [
            f"{name} {format_time(first[key])}"
            for name, key in (("lookup", "dns_ns"), ("tunnel", "proxy_ns"), ("TLS", "tls_ns"))
            if first[key] is not None
        ]
        keys = ("remote", "dns_ns", "proxy_ns", "tls_ns")
        yield Finding("network.connection", "ok", ", ".join(words), values={key: first[key] for key in keys})
        if not self.way["secure"] and not self.way["loopback"]:
            text = "plain http: anyone on the path can read and change the data"
            yield Finding("network.tls", "warning", text, "use https, if the service supports it")
        trips = [knock["answer_ns"] for knock in knocks if knock["answer_ns"] is not None]
        if trips:
            best = min(trips) / 1e9
            kernel = [knock["rtt_ns"] for knock in knocks if knock["rtt_ns"]]
            values = {"round_trip_s": best, "tcp_rtt_s": min(kernel) / 1e9 if kernel else None}
            text = f"a request is answered in {format_time(best * 1e9)}"
            far = best > FAR_S
            hint = "small files take long over such a link; --concurrency auto sends more of them at once"
            yield Finding(
                "network.round-trip", "note" if far else "ok", text, hint if far else None, values=values
            )

    def _clock(self, knock: dict[str, Any]) -> Iterator[Finding]:
        date = dict(knock["headers"]).get("date")
        try:
            there = parsedate_to_datetime(date).timestamp() if date else None
        except ValueError:
            there = None
        if there is None:
            yield Finding("network.clock", "note", "the service does not state its time")
            return
        yield self.clock(there, knock["at_ns"] / 1e9)

    def clock(self, there_s: float, here_s: float) -> Finding:
        """Compare clocks; a date has whole seconds, so half of one is added."""
        self.skew_s = skew = here_s - there_s - 0.5
        values = {"skew_s": round(skew, 1)}
        if abs(skew) < 1.5:
            return Finding("network.clock", "ok", "this clock agrees with the service's", values=values)
        text = f"this clock is {_span(abs(skew))} {'ahead of' if skew > 0 else 'behind'} the service's"
        if abs(skew) >= SKEW_FAULT_S:
            why = "; signatures and certificates will be rejected"
            return Finding("network.clock", "fault", text + why, _CLOCK_HINT, "permission", values)
        if abs(skew) >= SKEW_WARNING_S:
            return Finding("network.clock", "warning", text, _CLOCK_HINT, values=values)
        return Finding("network.clock", "ok", text, values=values)

    def _who(self, knock: dict[str, Any]) -> Iterator[Finding]:
        headers, code = dict(knock["headers"]), knock["code"]
        server = headers.get("server", "no name")
        origin, wanted = self.way["origin"], self.way["service"]
        values = {"status": knock["status"], "code": code, **headers}
        azure = any(name.startswith("x-ms-") for name in headers) or "Azurite" in server
        s3 = any(name.startswith("x-amz-") for name in headers) or any(
            name in server for name in ("MinIO", "AmazonS3", "VERSITYGW", "Ceph", "SeaweedFS", "Garage")
        )
        # Who speaks neither dialect in its headers may still refuse as such a service does.
        either = code is not None or headers.get("content-type", "").startswith("application/xml")
        check = "service.version"
        if wanted == "azure" and s3 and not azure:
            hint = "write s3://BUCKET with --endpoint " + origin
            yield Finding(
                check, "fault", f"{origin} is an S3 service, not Azure's ({server})", hint, "usage", values
            )
        elif wanted == "s3" and azure and not s3:
            hint = "write the URL as https://ACCOUNT.blob.core.windows.net/CONTAINER, or az://CONTAINER"
            text = f"{origin} is Azure Blob Storage, not S3 ({server})"
            yield Finding(check, "fault", text, hint, "usage", values)
        elif 300 <= knock["status"] < 400 and not (azure or s3):
            where = f" to {headers['location']}" if "location" in headers else ""
            hint = "check the endpoint; a network that requires a login in the browser responds like this too"
            text = f"{origin} redirects{where} (HTTP {knock['status']}), which a storage service does not do"
            yield Finding(check, "fault", text, hint, "service", values)
        elif code == "InvalidHeaderValue" and azure:
            # Nothing else in this request has a value that could be wrong.
            hint = "install a newer one (npm install -g azurite), or start it with --skipApiVersionCheck"
            text = f"this server is too old for the API version that Haulage uses ({server})"
            yield Finding(check, "fault", text, hint, "service", values)
        elif not (azure or s3 or either):
            hint = "check the host and the port of the endpoint"
            text = f"what answers at {origin} is no storage service ({server}, HTTP {knock['status']})"
            yield Finding(check, "fault", text, hint, "service", values)
        else:
            self.reached = True
            if knock["status"] >= 500:
                why = f"HTTP {knock['status']}" + (f", {code}" if code else "")
                text = f"the service is overloaded or unavailable ({why})"
                hint = "wait a few minutes and run haul doctor again; if it keeps failing, ask its operator"
                yield Finding("service.answers", "warning", text, hint, values=values)
            version = headers.get("x-ms-version")
            kind = "Azure Blob storage" if wanted == "azure" else "S3"
            text = f"{kind}: {server}" + (f", interface {version}" if version else "")
            yield Finding(check, "ok", text, values=values)
            yield from self._region(headers.get("x-amz-bucket-region"))
            if wanted == "azure":
                yield from self._crc64()

    def _region(self, there: str | None) -> Iterator[Finding]:
        here = self.way["region"]
        if there is None or self.way["service"] != "s3":
            return
        values = {"region": there, "configured": here}
        if here is not None and here != there:
            hint = f"give --region {there}, or set AWS_REGION={there}: it saves a request"
            text = f"the bucket is in {there}, and {here} is configured"
            yield Finding("service.region", "warning", text, hint, values=values)
        else:
            yield Finding("service.region", "ok", f"the bucket is in {there}", values=values)

    def _crc64(self) -> Iterator[Finding]:
        answer = self.ask("knock_crc64", url=self.url, options=self.options)
        if answer.value and answer.value["code"] == "FeatureNotSupported":
            yield no_crc64()

    def _only_six(self, finding: Finding) -> Finding:
        """Return the finding, or what is more likely where a host has addresses of IPv6 only."""
        if not self._addresses or not all(":" in one for one in self._addresses) or self.way["loopback"]:
            return finding
        hint = f"check whether this machine has a route: ip -6 route get {self._addresses[0]}; or use a proxy"
        return dataclasses.replace(
            finding, text=f"{finding.text}; the host has IPv6 addresses only", hint=hint
        )

    def _why_not(self, answer: Answer) -> Iterator[Finding]:
        """Find out why there is no connection: in the engine's words, unless there are better ones."""
        error = answer.error
        assert error is not None
        plain = by_error("network.connection", error)
        if isinstance(error, NotMeasuredError):
            yield plain
            return
        if error.code in ("connection", "stalled"):
            plain = self._only_six(plain)
        if error.code not in ("connection", "protocol", "stalled", "service"):
            yield plain
            return
        proxy = self.way["proxy"]
        if proxy is not None and proxy["secure"]:
            yield plain
            return
        host, port = self.way["host"], self.way["port"]
        ca = self.options.get("ca")
        bind = self.options.get("bind")
        seen = self.ask("tls", host=host, port=port, proxy=proxy, ca=ca, bind=bind, wait_s=3.0).value
        if seen is None:
            yield plain
        elif not self.way["secure"]:
            if seen.get("speaks"):
                hint = "write https:// instead of http://"
                text = f"{host}:{port} uses https, but the URL says http"
                yield Finding("network.tls", "fault", text, hint, "usage")
            else:
                yield plain
        else:
            yield from self._tls_fault(plain, seen, host, port)

    def _tls_fault(self, plain: Finding, seen: dict[str, Any], host: str, port: int) -> Iterator[Finding]:
        code = seen["verify_code"]
        values = {"verify_code": code, "roots": seen["roots"]}
        if code in (_NOT_YET, _EXPIRED) and seen["date"] is not None:
            import time

            # The other side has proven nothing; but if both clocks agree it is the certificate.
            compared = self.clock(seen["date"], time.time())
            yield compared
            if compared.level == "fault":
                return
        if seen["plain"]:
            hint = (
                "use the port that supports https, or http:// with --insecure-http if you trust the network"
            )
            text = f"{host}:{port} does not support https"
            yield Finding("network.tls", "fault", text, hint, "connection", values)
        elif code in (_NOT_YET, _EXPIRED):
            what = "is not valid yet" if code == _NOT_YET else "has expired"
            hint = "the owner of the service must renew it; also check this machine's clock"
            text = f"the certificate of {host} {what}"
            yield Finding("network.tls", "fault", text, hint, "connection", values)
        elif code in (_HOST, _IP):
            hint = "use the host name in its certificate; openssl s_client -connect shows it"
            text = f"the certificate is not for {host}: {seen['verify_message'].strip(' .')}"
            yield Finding("network.tls", "fault", text, hint, "connection", values)
        elif code in _STRANGERS:
            none = "; no authorities are installed" if not seen["roots"] else ""
            hint = (
                "if the service or proxy is yours, name its root certificate (PEM) with --ca or SSL_CERT_FILE"
                if seen["roots"]
                else "install the ca-certificates package, or name a PEM file in SSL_CERT_FILE or with --ca"
            )
            text = (
                f"no trusted authority has signed the certificate of {host} ({seen['verify_message']}){none}"
            )
            yield Finding("network.tls", "fault", text, hint, "connection", values)
        else:
            yield plain


def no_crc64() -> Finding:
    """Return the finding of a server that does not know CRC64."""
    hint = "give --checksum md5; if it is Azurite, start it with --loose"
    text = "the service does not support CRC64, which copies use to verify data"
    return Finding("checksums.taken", "fault", text, hint, "service", {"crc64": False})


def _span(seconds: float) -> str:
    for name, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {name}"
    return f"{seconds:.0f} seconds"
