"""`croissant.json` of a dump: the content of `datapackage.json` in MLCommons Croissant 1.0.

Machine learning tools and dataset searches read this vocabulary. This module does not import Django.
"""

from __future__ import annotations

from typing import Any

CROISSANT_FILE = "croissant.json"
CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
DATA_TYPES = {
    "integer": "sc:Integer",
    "number": "sc:Float",
    "boolean": "sc:Boolean",
    "datetime": "sc:DateTime",
}  # all other types, including JSON, are sc:Text


def croissant_document(package: dict[str, Any]) -> dict[str, Any]:
    """Return the Croissant description of a dump, from its Frictionless descriptor.

    The columns of SQLite are omitted, because Croissant cannot describe tables inside such a file.
    """
    resources = package["resources"]
    files = {resource["path"]: resource for resource in resources}
    has_columns = package["mpet"]["format"] != "sqlite"
    licences = [licence.get("path", licence["title"]) for licence in package["licenses"]]
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": package["name"],
        "description": f"{package['title']}. {package['description']}",
        "url": package.get("homepage", "https://mpet.example.org/"),
        "version": f"{package['version']}.0",
        "datePublished": package["created"],
        "license": licences or ["each source has its own licence: column licence of table sources"],
        "creator": [{"@type": "sc:Organization", "name": source["title"]} for source in package["sources"]]
        or [{"@type": "sc:Organization", "name": "MPET contributors"}],
        "citeAs": "; ".join(source["citation"] for source in package["sources"] if source["citation"])
        or package["title"],
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": path,
                "name": path,
                "contentUrl": path,
                "contentSize": f"{resource['bytes']} B",
                # Croissant's own validator accepts only this name of Parquet.
                "encodingFormat": resource["mediatype"].replace("vnd.apache.parquet", "x-parquet"),
                "sha256": resource["hash"].removeprefix("sha256:"),
            }
            for path, resource in files.items()
        ],
        **({"recordSet": [_record_set(resource) for resource in resources]} if has_columns else {}),
    }


def _record_set(resource: dict[str, Any]) -> dict[str, Any]:
    name, schema = resource["name"], resource["schema"]
    refers = {key["fields"][0]: key["reference"] for key in schema.get("foreignKeys", [])}
    keys = [{"@id": f"{name}/{column}"} for column in schema.get("primaryKey", [])]
    fields = []
    for column in schema["fields"]:
        reference = refers.get(column["name"])
        fields.append(
            {
                "@type": "cr:Field",
                "@id": f"{name}/{column['name']}",
                "name": column["name"],
                **({"description": column["description"]} if "description" in column else {}),
                "dataType": DATA_TYPES.get(column["type"], "sc:Text"),
                "source": {"fileObject": {"@id": resource["path"]}, "extract": {"column": column["name"]}},
                **(
                    {"references": {"field": {"@id": f"{reference['resource']}/{reference['fields'][0]}"}}}
                    if reference
                    else {}
                ),
            }
        )
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": resource["title"],
        **({"key": keys} if keys else {}),
        "field": fields,
    }
